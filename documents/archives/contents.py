"""Which tables an archive holds, and which of their columns."""

from dataclasses import dataclass
from typing import Any

from django.contrib.postgres.fields import ArrayField
from django.db import models

from documents.accounts.namespace_removal import owned_models
from documents.models import IndexProfile, Namespace

# By the names of tables, because apps above this one add theirs. A test requires each table of a
# namespace to be in one of these two.
INCLUDED = {
    "documents_chunk",
    "documents_chunkterms",
    "documents_collection",
    "documents_collectiondocument",
    "documents_conversation",
    "documents_document",
    "documents_documentversion",
    "documents_embeddingcache",
    "documents_fact",
    "documents_factalias",
    "documents_factstate",
    "documents_factstatement",
    "documents_factvector",
    "documents_predicaterule",
    "documents_termfrequency",
    "documents_termstatistics",
    "documents_turn",
    "evaluation_feedback",
    "evaluation_feedbackvector",
    "evaluation_goldenquery",
    "evaluation_goldenset",
    "evaluation_judgement",
    "evaluation_selectedpassage",
    "retrieval_learnedmodel",
}
LEFT_OUT = {
    # who may come in: each server decides that for itself
    "documents_apikey",
    "documents_namespaceaccess",
    "documents_namespacelink",
    # work under way; what is not indexed yet is queued again by the import
    "documents_collectionbatch",
    "documents_documentremoval",
    "documents_idempotentrequest",
    "documents_ingestjob",
    "documents_reindex",
    # what happened on that server
    "documents_embeddingusage",
    "documents_facterasure",
    "documents_languagemodelusage",
    "evaluation_evaluationrun",
    "evaluation_queryscore",
    "retrieval_querylog",
    # kept by triggers
    "documents_namespaceusage",
}
# Links to what is left out.
EMPTIED = {("evaluation_feedback", "query_log_id")}


@dataclass(frozen=True, slots=True)
class ArchivedColumn:
    name: str
    kind: str  # namespace, profile, id, ids, link (to a row of the same table) or value
    default: Any  # for archives from before the column was added


@dataclass(frozen=True, slots=True)
class ArchivedTable:
    name: str
    key: str
    columns: tuple[ArchivedColumn, ...]

    @property
    def profile_column(self) -> str | None:
        return next((column.name for column in self.columns if column.kind == "profile"), None)

    @property
    def links(self) -> tuple[ArchivedColumn, ...]:
        return tuple(column for column in self.columns if column.kind == "link")


def tables() -> list[ArchivedTable]:
    """Return the tables of an archive; those that others refer to come first."""
    return [_table(model) for model in reversed(owned_models()) if model._meta.db_table in INCLUDED]


def _table(model: type[models.Model]) -> ArchivedTable:
    name = model._meta.db_table
    fields: list[Any] = list(model._meta.concrete_fields)
    columns = tuple(
        ArchivedColumn(field.column, _kind(model, field), _default(field))
        for field in fields
        # Numbers that the database gives out; nothing refers to them.
        if not isinstance(field, models.AutoField) and (name, field.column) not in EMPTIED
    )
    return ArchivedTable(name, str(model._meta.pk.column), columns)


def _kind(model: type[models.Model], field: Any) -> str:
    target = field.related_model
    if target is Namespace:
        return "namespace"
    if target is IndexProfile:
        return "profile"
    if target is model:
        return "link"
    if isinstance(field, ArrayField) and isinstance(field.base_field, models.UUIDField):
        return "ids"
    while target is not None:
        field = target._meta.pk
        target = field.related_model
    return "id" if isinstance(field, models.UUIDField) else "value"


def _default(field: Any) -> Any:
    """Return a column's default, as the database stores it; None if it has none of its own."""
    return field.get_default() if field.has_default() and not field.primary_key else None
