"""The interface of checks: each finds the ids that break its rule, page by page, and may repair
them."""

import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from django.db import connections, transaction

from documents.models import IndexProfile

PAGE = 1000
# Longer than the usual timeout of operators: a check reads a whole namespace at once.
STATEMENT_SECONDS = 900

_NEXT = """
    SELECT id::text FROM ({query}) broken WHERE id::text COLLATE "C" > %(after)s
    ORDER BY id::text COLLATE "C" LIMIT %(page)s
"""
_AMONG = "SELECT id::text FROM ({query}) broken WHERE id::text = ANY (%(ids)s)"

Progress = Callable[[str], None]


class NotChecked(OSError):
    """A check that could not be made; the message says why."""


@dataclass(frozen=True, slots=True)
class AuditScope:
    """What is being audited: one namespace with its active profile or, without one, the server."""

    namespace_id: uuid.UUID | None
    slug: str
    profile: IndexProfile | None
    is_fast: bool = False
    progress: Progress = lambda line: None

    @property
    def tenant(self) -> uuid.UUID:
        if self.namespace_id is None:
            raise ValueError("This check is of a namespace.")
        return self.namespace_id

    @property
    def active_profile(self) -> IndexProfile:
        if self.profile is None:
            raise ValueError("This check is of a namespace.")
        return self.profile


class Check(Protocol):
    """One rule. `name` groups rules in the report; `what` describes the fault."""

    @property
    def name(self) -> str: ...

    @property
    def what(self) -> str: ...

    @property
    def mend(self) -> "Mend | None": ...

    def broken(self, audited: AuditScope) -> Iterator[str]:
        """Yield the ids that break the rule."""
        ...

    def still_broken(self, audited: AuditScope, ids: list[str]) -> set[str]:
        """Return which of these ids break the rule now."""
        ...


@dataclass(frozen=True, slots=True)
class Mend:
    """How to repair ids that break a rule. `apply` returns the number of repaired ids."""

    apply: Callable[[AuditScope, list[str]], int]
    done: str  # what the repair did, as in: 3 queued for another attempt


@dataclass(frozen=True, slots=True)
class QueryCheck:
    """A rule as one query for the `id`s that break it, and so in one snapshot."""

    name: str
    what: str
    query: str
    mend: Mend | None = None

    def broken(self, audited: AuditScope) -> Iterator[str]:
        after = ""
        while True:
            page = read(
                _NEXT.format(query=self.query),
                {**parameters_of(audited), "after": after, "page": PAGE},
            )
            yield from (row[0] for row in page)
            if len(page) < PAGE:
                return
            after = page[-1][0]

    def still_broken(self, audited: AuditScope, ids: list[str]) -> set[str]:
        found = read(
            _AMONG.format(query=self.query),
            {**parameters_of(audited), "ids": ids},
        )
        return {row[0] for row in found}


def parameters_of(audited: AuditScope) -> dict[str, Any]:
    profile = audited.profile
    return {
        "namespace": audited.namespace_id,
        "profile": profile.pk if profile else None,
    }


def read(statement: str, parameters: dict[str, Any]) -> list[tuple[Any, ...]]:
    """Read as the operator role, which sees every namespace, in a read-only transaction."""
    with transaction.atomic(using="operator"), connections["operator"].cursor() as cursor:
        cursor.execute("SET TRANSACTION READ ONLY")
        cursor.execute(f"SET LOCAL statement_timeout = '{STATEMENT_SECONDS}s'")
        cursor.execute(statement, parameters)
        rows: list[tuple[Any, ...]] = cursor.fetchall()
        return rows
