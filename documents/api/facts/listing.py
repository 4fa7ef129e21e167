"""The facts of a namespace: list them, and state new ones."""

import uuid
from datetime import datetime
from typing import Any

from django.db.models import Q, QuerySet
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from documents.api.fields import MOMENT
from documents.api.pages import ById
from documents.api.serializers import StrictSerializer
from documents.api.views import NamespacedListView, caller_of, uuid_in
from documents.memory.naming import naming_for
from documents.memory.reading import as_then, believed, holding
from documents.memory.rules.moments import moment_or_now
from documents.memory.rules.names import object_key
from documents.memory.statements import Outcome
from documents.memory.succession import successors_of
from documents.memory.writing import remember
from documents.models import Fact, FactStatement
from ragsite.database.tenancy import namespace

from .requests import MAX_STATEMENTS, NO_MOMENT, StatementSerializer, statement_of
from .shapes import FactSerializer, fact_shapes, provenances_of


class StatementsSerializer(StatementSerializer):
    """One statement, or several as `facts`."""

    schema_rules = {"oneOf": [{"required": ["subject"]}, {"required": ["facts"]}]}

    facts = StatementSerializer(many=True, required=False, allow_empty=False)

    def to_internal_value(self, data: Any) -> Any:
        if not isinstance(data, dict) or "facts" not in data:
            return {"facts": [super().to_internal_value(data)]}
        form = _Batch(data=data)
        form.is_valid(raise_exception=True)
        return form.validated_data


class _Batch(StrictSerializer):
    facts = StatementSerializer(  # type: ignore[call-arg]
        many=True, allow_empty=False, max_length=MAX_STATEMENTS
    )


class StatedSerializer(serializers.Serializer):
    """The result of a statement."""

    outcome = serializers.ChoiceField(
        choices=["created", "confirmed", "known", "proposed"],
        help_text="`confirmed`: the fact existed and is more certain now. `known`: this "
        "statement was stored before.",
    )
    closed = serializers.ListField(
        child=serializers.UUIDField(), help_text="Facts that this statement ended."
    )
    fact = FactSerializer()


class StatedListSerializer(serializers.Serializer):
    results = StatedSerializer(many=True)


def outcome_shapes(namespace_id: uuid.UUID, outcomes: list[Outcome]) -> list[dict[str, Any]]:
    with namespace(namespace_id):
        rows = Fact.objects.filter(pk__in={outcome.fact_id for outcome in outcomes})
        shapes = {shape["id"]: shape for shape in fact_shapes(rows.defer("words"))}
    return [
        {"outcome": each.what, "closed": each.closed, "fact": shapes[each.fact_id]}
        for each in outcomes
        if each.fact_id in shapes  # unless it was erased in the meantime
    ]


class FactListView(NamespacedListView):
    serializer_class = FactSerializer
    pagination_class = ById
    filter_names = frozenset(
        {"subject", "predicate", "object", "document_id", "as_of", "known_at"}
        | {"tag", "user", "status", "source"}
    )
    choices = {"status": Fact.Status.values, "source": Fact.Source.values}

    def get_queryset(self) -> QuerySet[Fact]:
        asked = self.request.query_params
        status = asked.get("status", Fact.Status.APPROVED)
        known_at = _moment(asked, "known_at")
        if status == Fact.Status.APPROVED:
            facts = believed(Fact.objects.all(), known_at)
            if (as_of := _moment(asked, "as_of")) is not None:
                facts = holding(facts, as_of)
        else:
            facts = Fact.objects.filter(status=status)
        if "subject" in asked or "predicate" in asked:
            facts = facts.filter(_named(caller_of(self.request).namespace_id, asked))
        if "object" in asked:
            # By its hash, because that is what the index holds.
            found = facts.filter(object_key=object_key(asked["object"]))
            facts = found.filter(object=asked["object"])
        if "document_id" in asked:
            facts = facts.filter(_written_in(uuid_in(self.request, "document_id")))
        if "tag" in asked:
            facts = facts.filter(tags__contains=[asked["tag"]])
        for name in ("user", "source"):
            if name in asked:
                facts = facts.filter(**{name: asked[name]})
        # A version's text is long, and not needed here.
        facts = facts.select_related("document", "version").defer("words", "version__text")
        return facts

    def get_serializer(self, *args: Any, **kwargs: Any) -> Any:
        page = args[0] if args else ()
        for fact in page:
            if hasattr(fact, "then_certainty"):
                as_then(fact)
        kwargs["context"] = {
            "statements": provenances_of(page),
            "successors": successors_of(page),
        }
        return FactSerializer(*args, **kwargs)

    @extend_schema(
        operation_id="facts_list",
        parameters=[
            OpenApiParameter(
                "subject",
                str,
                description="Only facts about this subject, in any form of its name.",
            ),
            OpenApiParameter(
                "predicate",
                str,
                description="Only facts with this predicate, in any form of its name.",
            ),
            OpenApiParameter("object", str, description="Only facts with exactly this object."),
            OpenApiParameter(
                "document_id", uuid.UUID, description="Only facts that come from this document."
            ),
            OpenApiParameter(
                "as_of",
                MOMENT,
                description="Only facts that are true at this moment; ISO 8601, or `now`.",
            ),
            OpenApiParameter(
                "known_at",
                MOMENT,
                description="Facts as they were known at this moment; ISO 8601, or `now`.",
            ),
            OpenApiParameter("tag", str),
            OpenApiParameter("user", str, description="Only facts of exactly this user."),
            OpenApiParameter(
                "status", str, enum=Fact.Status.values, description="`approved` by default."
            ),
            OpenApiParameter("source", str, enum=Fact.Source.values),
        ],
    )
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """List facts, including past ones with their `valid_to`; those from a document's rows
        are in the order of the rows."""
        return super().get(request, *args, **kwargs)

    @extend_schema(
        operation_id="facts_state",
        request=StatementsSerializer,
        responses={200: StatedListSerializer, 201: StatedListSerializer},
    )
    def post(self, request: Request) -> Response:
        """State one fact, or several as `facts`: all are stored, or none. A fact that exists
        already is confirmed; one with another object closes it if the predicate has one value
        at a time. The status is 201 if any fact is new, and 200 otherwise."""
        form = StatementsSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        namespace_id = caller_of(request).namespace_id
        statements = [statement_of(fields) for fields in form.validated_data["facts"]]
        outcomes = remember(namespace_id, statements)
        is_new = any(outcome.what == "created" for outcome in outcomes)
        shapes = outcome_shapes(namespace_id, outcomes)
        return Response({"results": shapes}, status=201 if is_new else 200)


def _named(namespace_id: uuid.UUID, asked: Any) -> Q:
    """Return the facts with these names in normalised form, as a search finds them."""
    naming = naming_for(
        namespace_id,
        names=[asked[n] for n in ("subject",) if n in asked],
        predicates=[asked[n] for n in ("predicate",) if n in asked],
    )
    found = Q()
    if "subject" in asked:
        found &= Q(subject_key=naming.subject(asked["subject"]))
    if "predicate" in asked:
        found &= Q(predicate_key=naming.predicate(asked["predicate"]))
    return found


def _written_in(document_id: uuid.UUID) -> Q:
    """Return the facts from this document's rows, and those with a statement in it."""
    statements = FactStatement.objects.filter(document=document_id).exclude(fact=None)
    stated = set(statements.values_list("fact", flat=True))
    rows = Q(document_id=document_id)
    return rows | Q(pk__in=stated) if stated else rows


def _moment(asked: Any, name: str) -> datetime | None:
    if name not in asked:
        return None
    try:
        return moment_or_now(asked[name])
    except (ValueError, OverflowError):
        raise ValidationError({name: NO_MOMENT}) from None
