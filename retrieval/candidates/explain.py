"""Query plans of both legs, for operators and for the tests that pin them."""

import re
import uuid
from collections.abc import Mapping
from typing import Any

from django.db import connections, transaction

from ragsite.database.isolation import role
from ragsite.database.tenancy import current_connection

from .lexical import LexicalQuery
from .scope import SearchScope


def explain(statement: str, parameters: dict[str, Any], *, analyse: bool = False) -> str:
    """Explain a statement as the application role. Inside namespace()."""
    with current_connection().cursor() as cursor:
        cursor.execute(f"EXPLAIN {_options(analyse)} {statement}", parameters)
        return _legible(cursor.fetchall())


def explain_candidates(
    question: LexicalQuery,
    wanted: str,
    *,
    namespace_id: uuid.UUID,
    profile_id: uuid.UUID,
    scope: SearchScope,
    limit: int,
    analyse: bool = False,
) -> str:
    """Explain the body of ragsite.lexical_candidates."""
    arguments = {
        "wanted": (wanted, "tsquery"),
        "weights": (question.weights, "sparsevec"),
        "in_profile": (str(profile_id), "uuid"),
        "in_kinds": (list(scope.kinds) or None, "text[]"),
        "in_documents": (scope.documents, "uuid[]"),
        "at_most": (limit, "int"),
    }
    return explain_inside("lexical_candidates", arguments, namespace_id, analyse=analyse)


def explain_inside(
    function: str,
    arguments: Mapping[str, tuple[Any, str]],
    namespace_id: uuid.UUID,
    *,
    analyse: bool = False,
) -> str:
    """PostgreSQL shows a function as one line, so its body is explained separately, with the role
    and settings it runs with. `arguments` maps names to a value and its type."""
    owner = connections["owner"]
    with transaction.atomic(using="owner"), owner.cursor() as cursor:
        cursor.execute(
            "SELECT prosrc, proconfig FROM pg_proc WHERE oid = %s::regproc", [f"ragsite.{function}"]
        )
        body, settings = cursor.fetchone()
        cursor.execute(f"SET LOCAL ROLE {role('definer')}")
        cursor.execute("SELECT set_config('ragsite.namespace', %s, true)", [str(namespace_id)])
        for setting in settings:
            cursor.execute("SELECT set_config(%s, %s, true)", setting.split("=", 1))
        names = "|".join(arguments)
        statement = re.sub(
            rf"\b({names})\b",
            lambda name: f"%({name[1]})s::{arguments[name[1]][1]}",
            body.replace("%", "%%"),
        )
        values = {name: value for name, (value, _) in arguments.items()}
        cursor.execute(f"EXPLAIN {_options(analyse)} {statement}", values)
        plan = _legible(cursor.fetchall())
        transaction.set_rollback(True, using="owner")
    return plan


def _legible(rows: list[tuple[str]]) -> str:
    """Remove the hundreds of numbers of a vector."""
    return re.sub(r"'\[[-\d.,e]{60,}\]'", "'[…]'", "\n".join(row[0] for row in rows))


def _options(analyse: bool) -> str:
    return "(ANALYZE, BUFFERS, COSTS OFF, SUMMARY OFF)" if analyse else "(COSTS OFF)"
