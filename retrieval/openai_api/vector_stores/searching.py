"""Search in vector stores: the passages of one or several questions, with exact quotes."""

import uuid
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from documents.models import CollectionDocument, DocumentVersion
from documents.pages.links import passage_url
from ragsite.database.tenancy import namespace
from retrieval import query_log
from retrieval.filters import Condition, Filters
from retrieval.openai_api.ids import FILE, shown_id
from retrieval.requests import Hit, SearchRequest
from retrieval.search import search

ALL_TOKENS = 1_000_000  # the results are not limited by a token budget


@dataclass(frozen=True, slots=True)
class StoreSearch:
    """A search in vector stores, for all entry points."""

    stores: tuple[uuid.UUID, ...]
    queries: tuple[str, ...]
    max_results: int = 10
    attributes: Condition | None = None
    score_threshold: float = 0.0
    rerank: str = "auto"
    weights: tuple[float, float] = (0.5, 0.5)  # of vectors, of words


@dataclass(frozen=True, slots=True)
class StoreHit:
    hit: Hit
    filename: str
    attributes: Mapping[str, Any] = field(default_factory=dict)

    @property
    def score(self) -> float:
        """How likely it answers the question, from 0 to 1."""
        relevance = self.hit.relevance
        return min(max(self.hit.candidate.final if relevance is None else relevance, 0.0), 1.0)


def search_stores(namespace_id: uuid.UUID, asked: StoreSearch) -> list[StoreHit]:
    """Return the best passages of all queries: the best of each query first, then the second best,
    …"""
    ranked: dict[uuid.UUID, tuple[tuple[int, int], Hit]] = {}
    for number, query in enumerate(asked.queries):
        request = _request(asked, query)
        result = search(namespace_id, request)
        query_log.note(namespace_id, request, result, filters=None)
        for rank, hit in enumerate(result.hits):
            known = ranked.get(hit.candidate.chunk_id)
            if known is None or (rank, number) < known[0]:
                ranked[hit.candidate.chunk_id] = ((rank, number), hit)
    best = sorted(ranked.values(), key=lambda pair: pair[0])[: asked.max_results]
    return _described(namespace_id, asked.stores, [hit for _, hit in best])


def shown_result(found: StoreHit, namespace_id: uuid.UUID, base_url: str) -> dict[str, Any]:
    hit = found.hit
    return {
        "file_id": shown_id(FILE, hit.candidate.document_id),
        "filename": found.filename,
        "score": found.score,
        "attributes": found.attributes,
        "content": [{"type": "text", "text": hit.content}],
        "quote": hit.content,
        "span": {"start": hit.start, "end": hit.end},
        "page": hit.page,
        "section": hit.section,
        "document_version": hit.document_version,
        "chunk_id": hit.candidate.chunk_id,
        "url": passage_url(
            namespace_id=namespace_id,
            document_id=hit.candidate.document_id,
            version=hit.document_version,
            start=hit.start,
            end=hit.end,
            base_url=base_url,
        ),
    }


def attributes_in(
    stores: Collection[uuid.UUID], document_ids: Collection[uuid.UUID]
) -> dict[uuid.UUID, dict[str, Any]]:
    """Return each document's attributes in the first of the stores that contains it. In
    namespace()."""
    members = CollectionDocument.objects.filter(collection__in=stores, document__in=document_ids)
    newest_first = members.order_by("-created_at", "-id")
    return dict(newest_first.values_list("document_id", "attributes"))


def _request(asked: StoreSearch, query: str) -> SearchRequest:
    semantic, lexical = asked.weights
    stores = tuple(str(pk) for pk in asked.stores)
    return SearchRequest(
        query=query,
        k=asked.max_results,
        filters=Filters(collections=stores, attributes=asked.attributes),
        semantic_weight=semantic,
        lexical_weight=lexical,
        min_relevance=asked.score_threshold,
        rerank=asked.rerank,
        token_budget=ALL_TOKENS,
    )


def _described(
    namespace_id: uuid.UUID, stores: Sequence[uuid.UUID], hits: Sequence[Hit]
) -> list[StoreHit]:
    """Add file names and attributes."""
    ids = {hit.candidate.document_id for hit in hits}
    with namespace(namespace_id):
        versions = DocumentVersion.objects.filter(document__in=ids).order_by("number")
        named = versions.values_list("document_id", "number", "file_name")
        names = {(document_id, number): name for document_id, number, name in named}
        attributes = attributes_in(stores, ids)
    return [
        StoreHit(
            hit,
            names.get((hit.candidate.document_id, hit.document_version))
            or hit.source_uri.rpartition("/")[2]
            or hit.title,
            attributes.get(hit.candidate.document_id, {}),
        )
        for hit in hits
    ]
