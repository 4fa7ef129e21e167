"""Facts among passages: found with the same question, cited like passages, marked as memory."""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from documents.api.facts.shapes import provenances_of, text_of
from documents.models import Fact, FactStatement
from ragsite.database.tenancy import namespace
from retrieval.context.assembly import CountTokens, assemble
from retrieval.context.selection import token_budget
from retrieval.ranking import relevance
from retrieval.requests import Candidate, Hit, SearchResult
from retrieval.search_context import SearchContext

from .finding import Recalled, RecallRequest, explained, recall

TITLE = "Memory"
KIND = "fact"
MAX_SHOWN = 5  # maximum number of provenances of each fact


def with_facts(
    context: SearchContext, result: SearchResult, count_tokens: CountTokens
) -> SearchResult:
    """Add matching facts to the passages; k and the token budget apply to both together."""
    request = context.request
    if request.facts is None or not context.has_words:
        return result
    least = max(request.min_relevance, relevance.NOTHING_NEAR)
    with context.clock("facts"):
        found = recall(
            context.namespace_id,
            RecallRequest(
                query=context.query.text,
                k=request.k,
                scope=request.facts,
                mode=request.mode,
                min_relevance=least,
            ),
        )
        facts = _hits(context, found.hits, count_tokens)
    mixed = _mixed(result.hits, facts)
    for hit in mixed[request.k :]:
        hit.candidate.dropped = "beyond_k"
    text = assemble(
        mixed[: request.k],
        budget=token_budget(request),
        count_tokens=count_tokens,
        layout=request.context_format,
    )
    diagnostics = replace(
        result.diagnostics,
        fallbacks=(*result.diagnostics.fallbacks, *found.fallbacks),
        facts=tuple(explained(hit) for hit in found.hits) if request.explain else (),
        dropped=(*result.diagnostics.dropped, *_dropped(text.dropped, mixed[request.k :])),
    )
    return replace(
        result,
        hits=text.hits,
        context=text.text,
        context_tokens=text.tokens,
        relevance=relevance.best_of(hit.candidate for hit in text.hits),
        diagnostics=diagnostics,
    )


def _dropped(candidates: Sequence[Candidate], beyond: Sequence[Hit]) -> list[dict[str, Any]]:
    """Return the passages that facts have displaced."""
    gone = [*candidates, *(hit.candidate for hit in beyond if hit.fact is None)]
    return [{"chunk_id": each.chunk_id, "reason": each.dropped} for each in gone]


def _mixed(passages: Iterable[Hit], facts: Sequence[Hit]) -> list[Hit]:
    """Keep both orders; a fact is placed before the first passage that is less relevant."""
    waiting = list(facts)
    mixed: list[Hit] = []
    for passage in passages:
        worth = passage.relevance or 0.0
        while waiting and waiting[0].candidate.fused >= worth:
            mixed.append(waiting.pop(0))
        mixed.append(passage)
    return [*mixed, *waiting]


def _hits(
    context: SearchContext, recalled: Sequence[Recalled], count_tokens: CountTokens
) -> list[Hit]:
    with namespace(context.namespace_id):
        stated = provenances_of([hit.fact for hit in recalled])
    texts = [text_of(hit.fact) for hit in recalled]
    tokens = count_tokens(texts) if texts else []
    return [
        _hit(hit, text, count, rank, stated.get(hit.fact.pk, ()))
        for rank, (hit, text, count) in enumerate(zip(recalled, texts, tokens, strict=True), 1)
    ]


def _hit(
    found: Recalled, text: str, tokens: int, rank: int, statements: Iterable[FactStatement]
) -> Hit:
    fact = found.fact
    return Hit(
        candidate=Candidate(
            fact.pk,
            fact.pk,
            similarity=found.vector,
            lexical=found.lexical,
            relevance=round(found.relevance, 4),
            fused=round(found.score, 6),
            fused_rank=rank,
        ),
        document_version=0,
        title=TITLE,
        source_uri=fact.source_uri or f"fact:{fact.pk}",
        section="",
        page=None,
        start=0,
        end=len(text),
        kind=KIND,
        content=text,
        checksum=hashlib.sha256(text.encode()).hexdigest(),
        metadata={},
        chunk_metadata={},
        tags=tuple(fact.tags),
        language="",
        media_type="text/plain",
        created_at=fact.recorded_at,
        dated_at=fact.last_verified_at,
        tokens=tokens,
        fact=fact_note(found, statements),
    )


def fact_note(found: Recalled, statements: Iterable[FactStatement]) -> dict[str, Any]:
    """Return what a client needs to know of a cited fact, as plain JSON, because it is cached with
    the hit."""
    fact = found.fact
    places = [_place(row) for row in statements][:MAX_SHOWN]
    if fact.source == Fact.Source.ROW:
        places = [_row_place(fact)]
    return {
        "id": str(fact.pk),
        "subject": fact.subject,
        "predicate": fact.predicate,
        "object": fact.object,
        "user": fact.user,
        "certainty": fact.certainty,
        "decay": round(found.decay, 6),
        "valid_from": _iso(fact.valid_from),
        "valid_to": _iso(fact.valid_to),
        "last_verified_at": _iso(fact.last_verified_at),
        "provenances": places,
    }


def _place(row: FactStatement) -> dict[str, Any]:
    has_place = row.document_id is not None and row.version is not None
    return {
        "kind": row.kind,
        "stated_at": _iso(row.stated_at),
        "source_uri": row.source_uri,
        "document_id": str(row.document_id) if row.document_id else None,
        "version": row.version.number if row.version else None,
        "span": {"start": row.start, "end": row.end} if has_place else None,
        "turn_id": str(row.turn_id) if row.turn_id else None,
    }


def _row_place(fact: Fact) -> dict[str, Any]:
    return {
        "kind": "row",
        "stated_at": _iso(fact.last_verified_at),
        "source_uri": fact.source_uri,
        "document_id": str(fact.document_id),
        "version": fact.version.number if fact.version else None,
        "span": {"start": fact.start, "end": fact.end},
        "turn_id": None,
    }


def _iso(moment: Any) -> str | None:
    return moment.isoformat() if moment else None
