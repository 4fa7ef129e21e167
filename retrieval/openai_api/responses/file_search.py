"""The tool `file_search`: the vector stores to answer from, and the passages found."""

import re
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rest_framework import serializers

from documents.api.fields import NamedChoiceField
from documents.api.serializers import StrictSerializer
from documents.collections import editing
from documents.models import Collection
from ragsite.database.tenancy import namespace
from retrieval.answering.requests import AnswerRequest, Evidence
from retrieval.filters import Condition
from retrieval.openai_api.ids import FILE, STORE, missing, read_id, shown_id
from retrieval.openai_api.vector_stores.attribute_filters import read_filters
from retrieval.openai_api.vector_stores.search_view import RANKERS, RankingOptionsSerializer
from retrieval.openai_api.vector_stores.searching import attributes_in
from retrieval.openai_api.views import invalid_parameter, unsupported_parameter

MAX_RESULTS = 50
MAX_STORES = 100
_STORES_AT = "tools.0.vector_store_ids"


class FileSearchToolSerializer(StrictSerializer):
    type = NamedChoiceField(choices=["file_search"])
    vector_store_ids = serializers.ListField(
        child=serializers.CharField(max_length=100), min_length=1, max_length=MAX_STORES
    )
    max_num_results = serializers.IntegerField(
        required=False, allow_null=True, min_value=1, max_value=MAX_RESULTS
    )
    ranking_options = RankingOptionsSerializer(required=False, allow_null=True)
    filters = serializers.JSONField(
        required=False, allow_null=True, help_text="As in `POST /v1/vector_stores/{id}/search`."
    )


_TOOL = FileSearchToolSerializer()

Attributes = Mapping[uuid.UUID, Mapping[str, Any]]  # of documents


@dataclass(frozen=True, slots=True)
class FileSearch:
    given: Mapping[str, Any]  # as the client sent it, to be sent back
    store_ids: tuple[uuid.UUID, ...]
    options: Mapping[str, Any]  # fields of POST /answer
    attributes: Condition | None = None


def file_search_of(tools: Any) -> FileSearch | None:
    """Read `tools`: none, or one file_search. Raises ApiError or ValidationError."""
    if not isinstance(tools, list):
        raise invalid_parameter("tools", "tools must be a list.")
    for number, tool in enumerate(tools):
        if not isinstance(tool, dict) or tool.get("type") != "file_search":
            raise unsupported_parameter(f"tools.{number}", "The only tool is file_search.")
    if not tools:
        return None
    if len(tools) > 1:
        raise unsupported_parameter("tools.1", "There can be one file_search.")
    try:
        fields = _TOOL.run_validation(tools[0])
    except serializers.ValidationError as error:
        raise serializers.ValidationError({"tools": {"0": error.detail}}) from None
    filters = fields.get("filters")
    return FileSearch(
        given=tools[0],
        store_ids=tuple(read_id(STORE, one, _STORES_AT) for one in fields["vector_store_ids"]),
        options=_options(fields),
        attributes=None if filters is None else read_filters(filters, "tools.0.filters"),
    )


def _options(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Convert the tool's fields to those of POST /answer."""
    ranking = fields.get("ranking_options") or {}
    hybrid = ranking.get("hybrid_search")
    options = {
        "k": fields.get("max_num_results"),
        "min_relevance": ranking.get("score_threshold"),
        "rerank": RANKERS[ranking["ranker"]] if "ranker" in ranking else None,
    }
    given = {name: value for name, value in options.items() if value is not None}
    if hybrid:
        weights = {"semantic": hybrid["embedding_weight"], "lexical": hybrid["text_weight"]}
        given |= {"weights": weights}
    return given


def within_stores(namespace_id: uuid.UUID, asked: AnswerRequest, tool: FileSearch) -> AnswerRequest:
    """Restrict the question to these vector stores. Those of other namespaces are not found."""
    with namespace(namespace_id):
        stores = list(Collection.objects.filter(pk__in=tool.store_ids))
        if {store.pk for store in stores} != set(tool.store_ids):
            raise missing(STORE, _STORES_AT)
        for store in stores:
            editing.mark_active(store)
    ids = tuple(str(pk) for pk in tool.store_ids)
    filters = replace(asked.search.filters, collections=ids, attributes=tool.attributes)
    return replace(
        asked,
        search=replace(asked.search, filters=filters),
        raw_filters={"collection": list(ids)},
    )


def attributes_of(
    namespace_id: uuid.UUID, tool: FileSearch, evidence: Sequence[Evidence]
) -> Attributes:
    with namespace(namespace_id):
        return attributes_in(tool.store_ids, {one.hit.candidate.document_id for one in evidence})


def results_of(evidence: Sequence[Evidence], attributes: Attributes) -> list[dict[str, Any]]:
    """Return the passages that the answer was written from, with their positions."""
    return [
        {
            "file_id": file_id(one),
            "filename": filename(one),
            "score": _score(one),
            "text": one.text,
            "attributes": attributes.get(one.hit.candidate.document_id, {}),
            "span": {"start": one.hit.start, "end": one.hit.end},
            "document_id": one.hit.candidate.document_id,
            "document_version": one.hit.document_version,
            "page": one.hit.page,
            "section": one.hit.section,
            "source_uri": one.hit.source_uri,
        }
        for one in evidence
    ]


def file_id(evidence: Evidence) -> str:
    return shown_id(FILE, evidence.hit.candidate.document_id)


def filename(evidence: Evidence) -> str:
    """Return the last part of the document's source."""
    uri = evidence.hit.source_uri
    return re.split(r"[/:]", uri.rstrip("/"))[-1] or evidence.hit.title


def _score(evidence: Evidence) -> float:
    relevance = evidence.hit.relevance
    score = evidence.hit.candidate.final if relevance is None else relevance
    return min(max(score, 0.0), 1.0)
