"""Rules about every table: foreign keys lead to rows of the same namespace, and leases are renewed.

They are derived from the models, so new tables are audited automatically.
"""

from collections.abc import Iterator
from typing import Any, cast

from django.apps import apps
from django.db import models

from documents.models import Namespace
from ragsite.database.tenancy import namespace

from . import mending
from .checks import AuditScope, Mend, QueryCheck

# Rows that can be recreated or are meaningless without their target; nothing that a user wrote.
DERIVED = {
    "documents_chunk",
    "documents_chunkterms",
    "documents_collectiondocument",
    "documents_embeddingcache",
    "documents_factstate",
    "documents_factvector",
    "documents_ingestjob",
}
# Work that this app can requeue. The running service requeues the rest.
TAKEN_OVER = {
    "documents_documentremoval",
    "documents_ingestjob",
    "documents_namespaceremoval",
    "documents_reindex",
}
# A living worker renews its lease; a dead worker's work is requeued within seconds.
OVERDUE = "interval '1 minute'"

_LINKED = """
    SELECT here.{key} AS id FROM {table} here
    LEFT JOIN {target} there ON there.{target_key} = here.{column}
    WHERE here.namespace_id = %(namespace)s AND here.{column} IS NOT NULL AND {wrong}
"""
_LEASED = """
    SELECT {key} AS id FROM {table}
    WHERE lease_until < now() - {overdue} AND state = ANY ('{{{states}}}') {of_namespace}
"""
# The states in which a worker holds a row, by table.
_HELD_STATES = ("running", "building", "built", "switched")


def link_checks() -> Iterator[QueryCheck]:
    """Yield two rules for each link between tables of tenants."""
    for model in apps.get_models():
        for field in model._meta.concrete_fields:
            if _is_link(model, field):
                yield from _checks_of(model, field)


def lease_checks(*, of_namespace: bool) -> Iterator[QueryCheck]:
    """Yield a rule for each table with leases; those without a namespace are the server's own."""
    for model in apps.get_models():
        names = {field.name for field in model._meta.concrete_fields}
        if {"lease_until", "state"} <= names and of_namespace == ("namespace" in names):
            yield QueryCheck(
                "leases",
                f"{model._meta.verbose_name_plural} are held by a worker that has gone",
                _LEASED.format(
                    key=_column_of_key(model),
                    table=model._meta.db_table,
                    overdue=OVERDUE,
                    states=",".join(_HELD_STATES),
                    of_namespace="AND namespace_id = %(namespace)s" if of_namespace else "",
                ),
                mending.TAKE_OVER if model._meta.db_table in TAKEN_OVER else None,
            )


def _is_link(model: type[models.Model], field: "models.Field[Any, Any]") -> bool:
    """Whether a field links a tenant's row to another tenant's row. Profiles may be shared."""
    if not isinstance(field, models.ForeignKey) or not _is_tenants(model):
        return False
    target = cast(type[models.Model], field.related_model)
    return target is not Namespace and _is_tenants(target)


def _is_tenants(model: type[models.Model]) -> bool:
    fields = {field.name: field for field in model._meta.concrete_fields}
    return "namespace" in fields and not fields["namespace"].null


def _checks_of(model: type[models.Model], field: "models.Field[Any, Any]") -> Iterator[QueryCheck]:
    target = cast(type[models.Model], field.related_model)
    names = {
        "key": _column_of_key(model),
        "table": model._meta.db_table,
        "column": field.column,
        "target": target._meta.db_table,
        "target_key": _column_of_key(target),
    }
    rows, of = model._meta.verbose_name_plural, target._meta.verbose_name
    can_go = model._meta.db_table in DERIVED and not field.null
    yield QueryCheck(
        "orphans",
        f"{rows} belong to a {of} that is gone",
        _LINKED.format(**names, wrong="there.namespace_id IS NULL"),
        _deleting(model) if can_go else None,
    )
    yield QueryCheck(
        "namespaces",
        f"{rows} belong to a {of} of another namespace",
        _LINKED.format(**names, wrong="there.namespace_id <> here.namespace_id"),
    )


def _deleting(model: type[models.Model]) -> Mend:
    def delete(audited: AuditScope, ids: list[str]) -> int:
        with namespace(audited.tenant):
            model._default_manager.filter(pk__in=ids).delete()
        return len(ids)

    return Mend(delete, "deleted")


def _column_of_key(model: type[models.Model]) -> str:
    return str(model._meta.pk.column)
