"""Finding what an answer may be written from: one search, and a second with other words before
giving up."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace

from retrieval import query_log
from retrieval.answering.question.second_search import second_query
from retrieval.context.selection import token_budget
from retrieval.requests import Hit, SearchRequest, SearchResult
from retrieval.search import search

from .call import Call, Progress
from .evidence import merge_hits, number_evidence
from .question import expansion
from .requests import Evidence


@dataclass(frozen=True, slots=True)
class Findings:
    question: str  # standalone
    result: SearchResult  # of the search that counts for diagnostics: the first
    evidence: tuple[Evidence, ...]
    relevance: float | None  # of the best passage; None: it could not be judged
    query_id: uuid.UUID | None
    is_second: bool = False  # other words were tried too

    def is_too_weak(self, call: Call) -> bool:
        """Whether it is not worth asking anybody: nothing found, or nothing near the question."""
        if not self.evidence:
            return True
        return self.relevance is not None and self.relevance < call.min_relevance


def find(call: Call, question: str, progress: Progress) -> Findings:
    """Search for the question, and for other ways to ask it where the request wants that."""
    asked = _search_request(call, question)
    with progress.clock("search"):
        result = search(call.namespace_id, asked)
        others = _expanded_results(call, question, progress)
    progress.searches.append(question)
    progress.fallbacks += result.diagnostics.fallbacks
    hits = expansion.fuse_results([result, *others], limit=asked.k) if others else result.hits
    query_id = query_log.note(
        call.namespace_id,
        replace(asked, query=call.request.search.query),
        result,
        filters=call.request.raw_filters,
    )
    return Findings(question, result, number_evidence(hits), _best(hits), query_id)


def find_again(
    call: Call, findings: Findings, progress: Progress, *, language: str, asks_model: bool
) -> Findings:
    """Search with other words: the model's, or the question's own content words alone."""
    with progress.clock("second_search"):
        other = _other_words(
            findings.question, progress, language, call=call if asks_model else None
        )
        if not other:
            return replace(findings, is_second=True)
        progress.searches.append(other)
        result = search(call.namespace_id, _search_request(call, other))
    progress.fallbacks += [f for f in result.diagnostics.fallbacks if f not in progress.fallbacks]
    first = [item.hit for item in findings.evidence]
    merged = merge_hits(first, result.hits, token_budget=token_budget(call.request.search))
    evidence = number_evidence(merged, known=findings.evidence)
    return replace(findings, evidence=evidence, relevance=_best(merged), is_second=True)


def _search_request(call: Call, question: str) -> SearchRequest:
    return replace(call.request.search, query=question, for_answer=True)


def _expanded_results(call: Call, question: str, progress: Progress) -> list[SearchResult]:
    kind = call.request.expand_query
    if kind == "none":
        return []
    if call.model is None:
        progress.fallbacks.append("no_expansion: it needs a language model")
        return []
    others = expansion.other_questions(
        question, kind, call.model, deadline=call.deadline, book=progress.book
    )
    if not others:
        progress.fallbacks.append(f"no_expansion: {kind} gave nothing usable")
    progress.searches += others
    asked = [_search_request(call, other) for other in others]
    if kind == "hyde":  # an invented passage: only its meaning counts, its words are made up
        asked = [replace(request, mode="semantic") for request in asked]
    return [search(call.namespace_id, request) for request in asked]


def _other_words(question: str, progress: Progress, language: str, *, call: Call | None) -> str:
    """`call`: of the model to ask for them; None where nobody is to be asked."""
    if call is not None and call.model is not None:
        other = expansion.rephrase(question, call.model, deadline=call.deadline, book=progress.book)
        if other:
            return other
    return second_query(question, language) or ""


def _best(hits: Sequence[Hit]) -> float | None:
    judged = [hit.relevance for hit in hits if hit.relevance is not None]
    if hits and not judged:
        return None
    return max(judged, default=0.0)
