"""The facts in a namespace's documents: list and filter."""

import hashlib
import uuid
from datetime import UTC, datetime
from typing import Any

from django.db.models import Q, QuerySet
from django.db.models.functions import MD5
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from documents.models import Fact

from .fields import MOMENT
from .pages import ById
from .serializers import FactSerializer
from .views import NamespacedListView, uuid_in


class FactListView(NamespacedListView):
    serializer_class = FactSerializer
    pagination_class = ById
    filter_names = frozenset({"subject", "predicate", "object", "document_id", "as_of"})

    def get_queryset(self) -> QuerySet[Fact]:
        asked = self.request.query_params
        facts = Fact.objects.filter(retracted_at=None).select_related("document", "version")
        facts = facts.filter(**{n: asked[n] for n in ("subject", "predicate") if n in asked})
        if "object" in asked:
            # By its hash, because the hash is what is indexed.
            digest = hashlib.md5(asked["object"].encode(), usedforsecurity=False).hexdigest()
            facts = facts.alias(hash=MD5("object")).filter(hash=digest, object=asked["object"])
        if "document_id" in asked:
            facts = facts.filter(document_id=uuid_in(self.request, "document_id"))
        if "as_of" in asked:
            moment = _moment_in(asked["as_of"])
            facts = facts.filter(
                Q(valid_from=None) | Q(valid_from__lte=moment),
                Q(valid_to=None) | Q(valid_to__gt=moment),
            )
        # A version's text is long and not needed here.
        return facts.only(*SHOWN, "document__source_uri", "version__number")

    @extend_schema(
        operation_id="facts_list",
        parameters=[
            OpenApiParameter("subject", str, description="The exact subject."),
            OpenApiParameter("predicate", str, description="The exact predicate."),
            OpenApiParameter("object", str, description="The exact object."),
            OpenApiParameter("document_id", uuid.UUID),
            OpenApiParameter(
                "as_of", MOMENT, description="Only facts that are valid at this time; ISO 8601."
            ),
        ],
    )
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """List the facts stated in documents. Facts from the rows of a file are in row order."""
        return super().get(request, *args, **kwargs)


SHOWN = [
    *(name for name in FactSerializer.Meta.fields if name != "provenance"),
    "document_id",
    "version_id",
    "start",
    "end",
]


def _moment_in(value: str) -> datetime:
    """Parse a date or time: a date means its start, and a time without a zone is UTC."""
    try:
        moment = datetime.fromisoformat(value)
        # In UTC, because the database rejects offsets of 16 hours or more.
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        raise ValidationError({"as_of": "Must be a date or a time in ISO 8601."}) from None
