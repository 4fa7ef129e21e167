"""From a question to cited passages: prepare → candidates → fuse → diversify → assemble."""

import logging
import time
import unicodedata
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from django.conf import settings

from documents import profiles
from documents.errors import IngestError
from documents.models import Chunk, IndexProfile, Namespace
from ragsite.tenancy import namespace

from . import dense, fusion, lexical
from .context import CountTokens, assemble
from .diversity import limit_per_document
from .requests import Candidate, Diagnostics, Hit, SearchRequest, SearchResult

logger = logging.getLogger(__name__)


@dataclass
class _Stopwatch:
    times_ms: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def __call__(self, stage: str) -> Iterator[None]:
        started = time.perf_counter()
        yield
        self.times_ms[stage] = round((time.perf_counter() - started) * 1000, 2)


@dataclass(frozen=True, slots=True)
class _Legs:
    near: Sequence[Candidate] = ()
    wordy: Sequence[Candidate] = ()
    plan: str = "none"


def search(namespace_id: uuid.UUID, request: SearchRequest) -> SearchResult:
    """Answer a question with passages. The number of SQL statements does not grow with hits."""
    clock = _Stopwatch()
    with clock("total"):
        query = prepare(request.query)
        with namespace(namespace_id):
            tenant = Namespace.objects.select_related("active_profile").get(pk=namespace_id)
        with clock("embed"):
            vector, fallbacks = _embed(query, tenant.active_profile, request)
        with namespace(namespace_id):
            legs = _candidates(query, vector, tenant, request, clock)
            fused = _fuse(legs, request)
            good, weak = _above(request.threshold, fused)
            kept, crowded = limit_per_document(good, most=request.max_per_document)
            with clock("read"):
                hits = _read(kept[: request.k])
        with clock("assemble"):
            budget = request.token_budget or settings.SEARCH["token_budget"]
            counter = _token_counter(tenant.active_profile)
            context = assemble(hits, budget=budget, count_tokens=counter)
    dropped = [*context.dropped, *crowded, *weak]
    logger.info("search.done", extra={"hits": len(context.hits), "times_ms": clock.times_ms})
    return SearchResult(
        query=query,
        hits=context.hits,
        context=context.text,
        context_tokens=context.tokens,
        diagnostics=Diagnostics(
            profile=tenant.active_profile.name,
            mode=request.mode,
            ann_k=len(legs.near),
            lexical_k=len(legs.wordy),
            fallbacks=fallbacks,
            dense_plan=legs.plan,
            times_ms=clock.times_ms,
            dropped=tuple({"chunk_id": c.chunk_id, "reason": c.dropped} for c in dropped),
            candidates=_explained(fused, dropped) if request.explain else (),
        ),
    )


def prepare(query: str) -> str:
    """One form for what looks alike; what carries meaning ("C++", "v2.1", "naïve") stays."""
    return " ".join(unicodedata.normalize("NFC", query).split())


def _embed(
    query: str, profile: IndexProfile, request: SearchRequest
) -> tuple[list[float] | None, tuple[str, ...]]:
    """The question's vector; without one, and saying so, if the embedder does not work."""
    if request.mode == "lexical":
        return None, ()
    try:
        return profiles.embedder_of(profile).embed_query(query), ()
    except IngestError as error:
        logger.warning("search.fallback", extra={"code": error.code}, exc_info=True)
        return None, (f"lexical_only: {error.code}",)


def _candidates(
    query: str,
    vector: Sequence[float] | None,
    tenant: Namespace,
    request: SearchRequest,
    clock: _Stopwatch,
) -> _Legs:
    legs = _Legs()
    limit = max(settings.SEARCH["candidates"], request.k)
    if vector is not None:
        with clock("vector"):
            near, plan = dense.find(
                vector,
                namespace_id=tenant.pk,
                profile=tenant.active_profile,
                filters=request.filters,
                limit=limit,
                chunk_count=tenant.chunk_count,
                exact_up_to=settings.SEARCH["exact_scan_rows"],
                ef_search=max(settings.SEARCH["ef_search"], limit),
            )
            legs = replace(legs, near=near, plan=plan)
    if request.mode != "semantic" or vector is None:
        with clock("lexical"):
            wordy = lexical.find(
                query, profile_id=tenant.active_profile.pk, filters=request.filters, limit=limit
            )
            legs = replace(legs, wordy=wordy)
    return legs


def _fuse(legs: _Legs, request: SearchRequest) -> list[Candidate]:
    candidates = fusion.union(legs.near, legs.wordy)
    if request.fusion == "rrf":
        return fusion.rrf(candidates)
    return fusion.weighted(
        candidates, semantic=request.semantic_weight, lexical=request.lexical_weight
    )


def _above(
    threshold: float | None, fused: list[Candidate]
) -> tuple[list[Candidate], list[Candidate]]:
    if threshold is None:
        return fused, []
    weak = [replace(c, dropped="threshold") for c in fused if c.fused < threshold]
    return [c for c in fused if c.fused >= threshold], weak


def _read(candidates: Sequence[Candidate]) -> list[Hit]:
    """The chunks themselves, under row-level security: the second fence behind the legs."""
    chunks = (
        Chunk.objects.select_related("document", "version")
        .defer("embedding", "search_vector", "version__text", "version__outline")
        .in_bulk([c.chunk_id for c in candidates])
    )
    return [_hit(c, chunks[c.chunk_id]) for c in candidates if c.chunk_id in chunks]


def _hit(candidate: Candidate, chunk: Chunk) -> Hit:
    return Hit(
        candidate=candidate,
        document_version=chunk.version.number,
        title=chunk.document.title,
        source_uri=chunk.document.source_uri,
        section=chunk.section,
        page=chunk.page_start,
        start=chunk.start,
        end=chunk.end,
        kind=chunk.kind,
        content=chunk.content,
        tokens=chunk.tokens,
        chunk_hash=chunk.chunk_hash,
        metadata={**chunk.document.metadata, **chunk.metadata},
        tags=tuple(chunk.document.tags),
    )


def _token_counter(profile: IndexProfile) -> CountTokens:
    """The model's own tokenizer; a cautious guess when the embedder is what is broken."""
    try:
        return profiles.embedder_of(profile).count_tokens
    except IngestError:
        return lambda texts: [len(text) // 3 + 1 for text in texts]


def _explained(fused: Sequence[Candidate], dropped: Sequence[Candidate]) -> tuple[Candidate, ...]:
    reasons = {c.chunk_id: c for c in dropped}
    return tuple(reasons.get(c.chunk_id, c) for c in fused)
