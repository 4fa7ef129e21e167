"""The JSON representation of facts, built by hand for speed."""

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from documents.api.serializers import ProvenanceSerializer, SpanSerializer
from documents.memory.rules.rendering import sentence
from documents.memory.succession import successors_of
from documents.models import Fact, FactStatement
from ragsite.web.openapi import JSON_VALUE

MAX_PROVENANCES = 50  # maximum number of statements shown for each fact, the latest ones


@extend_schema_field({"$ref": JSON_VALUE})
class AnyJsonField(serializers.JSONField):
    """Any JSON value."""


class StatementShapeSerializer(serializers.Serializer):
    """A provenance: who stated the fact, when, and where it is written."""

    kind = serializers.CharField(
        help_text="client, passage, turn, confirmation, correction; row, of a table's row."
    )
    stated_at = serializers.DateTimeField()
    certainty = serializers.FloatField()
    valid_from = serializers.DateTimeField(allow_null=True)
    valid_to = serializers.DateTimeField(allow_null=True)
    source_uri = serializers.CharField()
    document_id = serializers.UUIDField(allow_null=True)
    version = serializers.IntegerField(allow_null=True)
    span = SpanSerializer(allow_null=True)
    conversation_id = serializers.UUIDField(allow_null=True)
    turn_id = serializers.UUIDField(allow_null=True)


class FactSerializer(serializers.Serializer):
    id = serializers.UUIDField()
    text = serializers.CharField(help_text="The fact as a sentence.")
    subject = serializers.CharField()
    predicate = serializers.CharField()
    object = AnyJsonField()
    certainty = serializers.FloatField()
    tags = serializers.ListField(child=serializers.CharField())
    user = serializers.CharField(
        help_text="The user whose memory it belongs to; blank: no particular user."
    )
    status = serializers.CharField(help_text="approved, proposed or rejected.")
    source = serializers.CharField(help_text="stated, row or model.")  # type: ignore[assignment]
    source_uri = serializers.CharField()
    valid_from = serializers.DateTimeField(allow_null=True, help_text="Null: it was always true.")
    valid_to = serializers.DateTimeField(
        allow_null=True, help_text="End of its validity; null: open."
    )
    recorded_at = serializers.DateTimeField()
    retracted_at = serializers.DateTimeField(allow_null=True)
    superseded_by = serializers.UUIDField(
        allow_null=True,
        help_text="The fact that begins where this one was closed, that corrected it, or into "
        "which it was merged.",
    )
    last_verified_at = serializers.DateTimeField()
    confirmations = serializers.IntegerField()
    provenance = ProvenanceSerializer(
        allow_null=True, help_text="The first place in a document that states it."
    )
    provenances = StatementShapeSerializer(many=True)

    def to_representation(self, fact: Any) -> dict[str, Any]:
        statements: dict[UUID, list[FactStatement]] = self.context["statements"]
        successors: dict[UUID, UUID] = self.context["successors"]
        return fact_shape(fact, statements.get(fact.pk, ()), successors.get(fact.pk))


def provenances_of(facts: Iterable[Fact]) -> dict[UUID, list[FactStatement]]:
    """Return the statements that each fact follows from, latest first. Inside namespace()."""
    ids = [fact.pk for fact in facts if fact.source != Fact.Source.ROW]
    found: dict[UUID, list[FactStatement]] = {}
    if not ids:
        return found
    rows = FactStatement.objects.filter(fact__in=ids).select_related("version")
    rows = rows.only(*_READ, "version__number").order_by("-stated_at")
    for row in rows:
        if row.fact_id is not None and len(found.setdefault(row.fact_id, [])) < MAX_PROVENANCES:
            found[row.fact_id].append(row)
    return found


_READ = (
    "fact_id",
    "kind",
    "stated_at",
    "certainty",
    "valid_from",
    "valid_to",
    "source_uri",
    "document_id",
    "version_id",
    "start",
    "end",
    "conversation_id",
    "turn_id",
)


def fact_shapes(facts: Iterable[Fact]) -> list[dict[str, Any]]:
    """Inside namespace(); facts from rows of tables must come with their document and version."""
    listed = list(facts)
    stated, successors = provenances_of(listed), successors_of(listed)
    return [fact_shape(fact, stated.get(fact.pk, ()), successors.get(fact.pk)) for fact in listed]


def text_of(fact: Any) -> str:
    return sentence(
        fact.subject,
        fact.predicate,
        fact.object,
        valid_from=fact.valid_from,
        valid_to=fact.valid_to,
    )


def fact_shape(
    fact: Fact, statements: Iterable[FactStatement], successor: UUID | None
) -> dict[str, Any]:
    provenances = [_provenance(row) for row in statements]
    if fact.source == Fact.Source.ROW:
        provenances = [_row_provenance(fact)]
    return {
        "id": fact.pk,
        "text": text_of(fact),
        "subject": fact.subject,
        "predicate": fact.predicate,
        "object": fact.object,
        "certainty": fact.certainty,
        "tags": fact.tags,
        "user": fact.user,
        "status": fact.status,
        "source": fact.source,
        "source_uri": fact.source_uri,
        "valid_from": fact.valid_from,
        "valid_to": fact.valid_to,
        "recorded_at": fact.recorded_at,
        "retracted_at": fact.retracted_at,
        "superseded_by": successor,
        "last_verified_at": fact.last_verified_at,
        "confirmations": fact.confirmations,
        "provenance": _first_place(provenances),
        "provenances": provenances,
    }


def _provenance(row: FactStatement) -> dict[str, Any]:
    has_place = row.version_id is not None
    return {
        "kind": row.kind,
        "stated_at": row.stated_at,
        "certainty": row.certainty,
        "valid_from": row.valid_from,
        "valid_to": row.valid_to,
        "source_uri": row.source_uri,
        "document_id": row.document_id,
        "version": row.version.number if row.version else None,
        "span": {"start": row.start, "end": row.end} if has_place else None,
        "conversation_id": row.conversation_id,
        "turn_id": row.turn_id,
    }


def _row_provenance(fact: Fact) -> dict[str, Any]:
    return {
        "kind": "row",
        "stated_at": fact.last_verified_at,
        "certainty": fact.certainty,
        "valid_from": fact.valid_from,
        "valid_to": fact.valid_to,
        "source_uri": fact.document.source_uri if fact.document else fact.source_uri,
        "document_id": fact.document_id,
        "version": fact.version.number if fact.version else None,
        "span": {"start": fact.start, "end": fact.end},
        "conversation_id": None,
        "turn_id": None,
    }


def _first_place(provenances: list[dict[str, Any]]) -> dict[str, Any] | None:
    placed = [one for one in provenances if one["document_id"] and one["span"]]
    if not placed:
        return None
    first = placed[-1]
    return {name: first[name] for name in ("document_id", "version", "span", "source_uri")}
