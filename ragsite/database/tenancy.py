"""The wall between tenants: the only door that lets a transaction see a namespace's rows.

Every tenant table is under forced row-level security. As the application role a transaction
sees nothing until `namespace()` names the tenant, and the name is gone when it ends.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, cast
from uuid import UUID

from django.conf import settings
from django.db import connections, models, transaction
from django.db.backends.base.base import BaseDatabaseWrapper

from ragsite.postgres.base import DatabaseWrapper

_namespace: ContextVar[UUID | None] = ContextVar("namespace", default=None)
_operator: ContextVar[bool] = ContextVar("operator", default=False)
_alias: ContextVar[str] = ContextVar("alias", default="default")

# The inner query depends on the outer, and OFFSET 0 keeps the planner from mixing them: nothing is
# read before the name is set. Were it otherwise, no row would be seen.
_NAMED_FIRST = """
    SELECT seen.*
    FROM (SELECT set_config('ragsite.namespace', %(tenant)s, true) AS tenant OFFSET 0) named
    CROSS JOIN LATERAL (
        SELECT inside.* FROM ({statement}) inside WHERE named.tenant IS NOT NULL OFFSET 0
    ) seen
"""


@contextmanager
def namespace(namespace_id: UUID) -> Iterator[None]:
    """A transaction of the application role that sees this namespace and no other.

    Keep it short: call models and providers between two of these, never inside one. A streaming
    response runs after the view's transaction has ended, so each of its steps opens its own.
    """
    nested = current_connection().in_atomic_block
    outer = _namespace.get()
    if nested and outer not in (None, namespace_id):
        raise RuntimeError("A transaction cannot switch from one namespace to another.")
    tenant, role = _namespace.set(namespace_id), _operator.set(False)
    try:
        with transaction.atomic(using=_alias.get()):
            _set_tenant(str(namespace_id))
            yield
            if nested and outer is None:
                # SET LOCAL lasts until the outer transaction ends: take the name back.
                _set_tenant("")
    finally:
        _namespace.reset(tenant)
        _operator.reset(role)


def _set_tenant(value: str) -> None:
    with current_connection().cursor() as cursor:
        # The third argument makes it SET LOCAL. A session-wide setting would leak to whoever
        # gets this connection next.
        wanted = {"ragsite.namespace": value, **settings.TRANSACTION_TIMEOUTS}
        cursor.execute(
            "SELECT " + ", ".join(["set_config(%s, %s, true)"] * len(wanted)),
            [part for pair in wanted.items() for part in pair],
        )


def current_connection() -> BaseDatabaseWrapper:
    """For SQL by hand inside namespace(): the connection whose transaction that is."""
    return connections[_alias.get()]


def id_array(ids: Iterable[UUID]) -> str:
    """As PostgreSQL reads it: for hundreds of ids many times faster than element by element."""
    return "{" + ",".join([id.hex for id in ids]) + "}"


def query_prepared(statement: str, parameters: dict[str, Any]) -> list[tuple[Any, ...]]:
    """The rows of a statement that finds them by their keys: it is planned once (prepared)."""
    with cast(DatabaseWrapper, current_connection()).prepared_cursor() as cursor:
        cursor.execute(statement, parameters)
        rows: list[tuple[Any, ...]] = cursor.fetchall()
        return rows


def query_in_namespace(
    namespace_id: UUID, statement: str, parameters: dict[str, Any]
) -> list[tuple[Any, ...]]:
    """The same inside the namespace, in one trip to the server where namespace() takes four: the
    statement names the tenant before it reads, and being a transaction by itself forgets it."""
    if current_connection().in_atomic_block:
        with namespace(namespace_id):
            return query_prepared(statement, parameters)
    named = {**parameters, "tenant": str(namespace_id)}
    return query_prepared(_NAMED_FIRST.format(statement=statement), named)


@contextmanager
def reading_from(alias: str) -> Iterator[None]:
    """Let the block's namespaces be opened on another server, such as a replica that only reads."""
    token = _alias.set(alias)
    try:
        yield
    finally:
        _alias.reset(token)


@contextmanager
def operator() -> Iterator[None]:
    """Run the block's queries as the operator role, which sees every namespace.

    For the admin, for commands typed by whoever runs the service and for the operator API, where
    that is switched on; never for a client's call.
    """
    token = _operator.set(True)
    try:
        yield
    finally:
        _operator.reset(token)


def current_namespace() -> UUID | None:
    """The one whose namespace() block this is, if any."""
    return _namespace.get()


def is_operator() -> bool:
    return _operator.get()


class RoleRouter:
    """Sends each query to the role it may run as; migrations only ever to the owner."""

    def db_for_read(self, model: type[models.Model], **hints: object) -> str:
        return "operator" if _operator.get() else _alias.get()

    db_for_write = db_for_read

    def allow_relation(self, *objects: models.Model, **hints: object) -> bool:
        return True

    def allow_migrate(self, db: str, app_label: str, **hints: object) -> bool:
        return db == "owner"
