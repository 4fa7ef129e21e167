"""Search with the options and the camelCase passages that the owner's documents describe. Shared by
the tool ragSearch and by POST /api/rag/search."""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from documents.models import Namespace
from ragsite.database.tenancy import namespace
from retrieval import query_log
from retrieval.api.serializers import request_of
from retrieval.requests import Hit, SearchRequest, SearchResult
from retrieval.search import search

LIMIT, THRESHOLD = 10, 0.7
KEYWORD_WEIGHT, SEMANTIC_WEIGHT = 0.3, 0.7
MAX_LIMIT = 100
MAX_QUERY = 4000  # characters
NO_TOKEN_LIMIT = 1_000_000

# `similarity` is the tenth root of `relevance`. Clients written for OpenAI's embeddings send 0.7
# and mean "related", which corresponds to a relevance of 0.03. docs/tools.md has the figures.
SIMILARITY_ROOT = 10


@dataclass(frozen=True, slots=True)
class RagQuery:
    query: str
    limit: int = LIMIT
    threshold: float = THRESHOLD
    use_reranking: bool = True
    keyword_weight: float = KEYWORD_WEIGHT
    semantic_weight: float = SEMANTIC_WEIGHT
    filters: Mapping[str, Any] = field(default_factory=dict)  # in the format of POST /query
    max_tokens: int = NO_TOKEN_LIMIT


@dataclass(frozen=True, slots=True)
class RagResult:
    found: SearchResult
    query_id: uuid.UUID | None  # of the query log's line

    @property
    def was_reranked(self) -> bool:
        return any(hit.candidate.rerank is not None for hit in self.found.hits)


def rag_search(namespace_id: uuid.UUID, asked: RagQuery) -> RagResult:
    """Search. Raises DRF's ValidationError for filters that cannot be used."""
    request = search_request(asked)
    found = search(namespace_id, request)
    query_id = query_log.note(namespace_id, request, found, filters=asked.filters)
    return RagResult(found, query_id)


def search_request(asked: RagQuery) -> SearchRequest:
    request = request_of(
        {
            "query": asked.query,
            "k": asked.limit,
            "min_relevance": asked.threshold**SIMILARITY_ROOT,
            "rerank": "auto" if asked.use_reranking else "none",
            "weights": {"semantic": asked.semantic_weight, "lexical": asked.keyword_weight},
            "filters": dict(asked.filters),
            "token_budget": asked.max_tokens,
        }
    )
    # An answer will be written from the passages, so a configured reranker is worth its time.
    return replace(request, for_answer=asked.use_reranking)


def slug_of(namespace_id: uuid.UUID) -> str:
    with namespace(namespace_id):
        return Namespace.objects.values_list("slug", flat=True).get()


def similarity_of(hit: Hit) -> float:
    """Return the similarity, never below the requested threshold. If relevance is unknown, it is
    the cosine similarity, and no threshold was applied."""
    if hit.relevance is None:
        return round(max(0.0, hit.candidate.similarity or 0.0), 4)
    return round(float(hit.relevance ** (1 / SIMILARITY_ROOT)), 4)


def passage(hit: Hit, *, slug: str) -> dict[str, Any]:
    found = hit.candidate
    shown = {
        "id": found.chunk_id,
        "content": hit.content,
        "similarity": similarity_of(hit),
        "keywordRank": round(found.lexical_normal or 0.0, 4),
        "combinedScore": round(found.fused, 4),
        "metadata": _metadata(hit),
        "namespace": slug,
        "sourceId": source_id(hit),
        "chunkIndex": hit.ordinal,
    }
    return shown if found.rerank is None else {**shown, "rerankScore": round(found.rerank, 4)}


def _metadata(hit: Hit) -> Mapping[str, Any]:
    """Return the document's metadata, with its collection if the metadata does not name one."""
    return {"collection": hit.collection, **hit.metadata} if hit.collections else hit.metadata


def source_id(hit: Hit) -> str:
    """Return the client's own name for the document, else its source_uri."""
    named = (hit.metadata.get(name) for name in ("sourceId", "id"))
    return next((name for name in named if isinstance(name, str) and name), hit.source_uri)


def citation(number: int, hit: Hit) -> dict[str, Any]:
    """Return the passage's position: text[start:end] of the document's version, in code points."""
    return {
        "id": number,
        "documentId": hit.candidate.document_id,
        "documentVersion": hit.document_version,
        "title": hit.title,
        "section": hit.section,
        "page": hit.page,
        "sourceUri": hit.source_uri,
        "start": hit.start,
        "end": hit.end,
        "checksum": hit.checksum,
    }
