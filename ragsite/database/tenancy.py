"""Isolation of tenants: the only way for a transaction to see a namespace's rows.

Every tenant table is under forced row-level security. As the application role a transaction sees
nothing until `namespace()` sets the tenant, which is reset when the transaction ends.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from types import MappingProxyType
from typing import Any, cast
from uuid import UUID

from django.conf import settings as configured
from django.db import connections, models, transaction
from django.db.backends.base.base import BaseDatabaseWrapper

from ragsite.postgres.base import DatabaseWrapper

NO_SETTINGS: Mapping[str, str] = MappingProxyType({})

_namespace: ContextVar[UUID | None] = ContextVar("namespace", default=None)
_operator: ContextVar[bool] = ContextVar("operator", default=False)
_alias: ContextVar[str] = ContextVar("alias", default="default")
# Settings of the current transaction, beside the tenant.
_settings: ContextVar[Mapping[str, str]] = ContextVar("settings", default=NO_SETTINGS)

# The inner query depends on the outer one, and OFFSET 0 keeps the planner from merging them, so the
# tenant is set before anything is read. Otherwise no row would be visible.
_SET_TENANT_FIRST = """
    SELECT seen.*
    FROM (SELECT set_config('ragsite.namespace', %(tenant)s, true) AS tenant OFFSET 0) named
    CROSS JOIN LATERAL (
        SELECT inside.* FROM ({statement}) inside WHERE named.tenant IS NOT NULL OFFSET 0
    ) seen
"""


@contextmanager
def namespace(namespace_id: UUID, settings: Mapping[str, str] = NO_SETTINGS) -> Iterator[None]:
    """A transaction of the application role that sees this namespace and no other.

    Keep it short: call models and providers between two of these, never inside one. A streaming
    response runs after the view's transaction has ended, so each of its steps opens its own.
    `settings` of PostgreSQL are set in the same round trip; code inside can set others
    (`set_locally`).
    """
    nested = current_connection().in_atomic_block
    outer = _namespace.get()
    if nested and outer not in (None, namespace_id):
        raise RuntimeError("A transaction cannot switch from one namespace to another.")
    tenant, role = _namespace.set(namespace_id), _operator.set(False)
    made = _settings.set({**_settings.get(), **settings} if nested else settings)
    try:
        with transaction.atomic(using=_alias.get()):
            wanted = {**_tenant(str(namespace_id)), **settings}
            if nested:
                _set(wanted)
            else:
                cast(DatabaseWrapper, current_connection()).begin(_set_config(wanted))
            yield
            if nested and outer is None:
                # SET LOCAL lasts until the outer transaction ends, so reset it here.
                _set(_tenant(""))
    finally:
        _namespace.reset(tenant)
        _operator.reset(role)
        _settings.reset(made)


def set_locally(wanted: Mapping[str, str]) -> None:
    """Set settings of PostgreSQL until the transaction ends, unless namespace() has set them."""
    made = _settings.get()
    missing = {name: value for name, value in wanted.items() if made.get(name) != value}
    if missing:
        _set(missing)


def _tenant(value: str) -> dict[str, str]:
    return {"ragsite.namespace": value, **configured.TRANSACTION_TIMEOUTS}


def _set(wanted: Mapping[str, str]) -> None:
    with current_connection().cursor() as cursor:
        cursor.execute(_set_config(wanted))


def _set_config(wanted: Mapping[str, str]) -> str:
    """The third argument makes it SET LOCAL. A session-wide setting would leak to the next user of
    the connection. Values do not come from clients: an id, and settings of the operator."""
    return "SELECT " + ", ".join(
        f"set_config({_quoted(name)}, {_quoted(value)}, true)" for name, value in wanted.items()
    )


def _quoted(text: str) -> str:
    if "\\" in text or "%" in text or "\0" in text:
        raise ValueError("A setting's value has a character that would have to be escaped.")
    return "'" + text.replace("'", "''") + "'"


def current_connection() -> BaseDatabaseWrapper:
    """Return the connection of the current namespace() block, for handwritten SQL."""
    return connections[_alias.get()]


def id_array(ids: Iterable[UUID]) -> str:
    """Format ids as a PostgreSQL array: for hundreds of ids many times faster than a list."""
    return "{" + ",".join([id.hex for id in ids]) + "}"


def query_prepared(statement: str, parameters: dict[str, Any]) -> list[tuple[Any, ...]]:
    """Run a prepared statement, for lookups by key whose plan does not change; return its rows."""
    with cast(DatabaseWrapper, current_connection()).prepared_cursor() as cursor:
        cursor.execute(statement, parameters)
        rows: list[tuple[Any, ...]] = cursor.fetchall()
        return rows


def query_planned(statement: str, parameters: dict[str, Any]) -> list[tuple[Any, ...]]:
    """Run a statement whose plan depends on its parameters; return its rows, read as binary."""
    with cast(DatabaseWrapper, current_connection()).binary_cursor() as cursor:
        cursor.execute(statement, parameters)
        rows: list[tuple[Any, ...]] = cursor.fetchall()
        return rows


def query_in_namespace(
    namespace_id: UUID, statement: str, parameters: dict[str, Any]
) -> list[tuple[Any, ...]]:
    """Run a statement inside a namespace, in one round trip where namespace() takes four.

    The statement sets the tenant before it reads. It is its own transaction, so the tenant is reset
    when it ends.
    """
    if current_connection().in_atomic_block:
        with namespace(namespace_id):
            return query_prepared(statement, parameters)
    named = {**parameters, "tenant": str(namespace_id)}
    return query_prepared(_SET_TENANT_FIRST.format(statement=statement), named)


@contextmanager
def reading_from(alias: str) -> Iterator[None]:
    """Open the block's namespaces on another server, such as a read-only replica."""
    token = _alias.set(alias)
    try:
        yield
    finally:
        _alias.reset(token)


@contextmanager
def operator() -> Iterator[None]:
    """Run the block's queries as the operator role, which sees every namespace.

    For the admin, management commands and the operator API; never for a client's request.
    """
    token = _operator.set(True)
    try:
        yield
    finally:
        _operator.reset(token)


def current_namespace() -> UUID | None:
    """Return the namespace of the current namespace() block, if any."""
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
