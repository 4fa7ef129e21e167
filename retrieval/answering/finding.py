"""Find the evidence for an answer: one search, and a second one with other words before giving
up."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace

from retrieval import query_log
from retrieval.answering.question.second_search import second_query
from retrieval.context.selection import token_budget
from retrieval.requests import Hit, SearchRequest, SearchResult
from retrieval.search import search

from .call import AnswerProgress, Call
from .evidence import merge_hits, number_evidence
from .question import expansion
from .requests import Evidence


@dataclass(frozen=True, slots=True)
class Findings:
    question: str  # standalone
    result: SearchResult  # of the first search, which is used for diagnostics
    evidence: tuple[Evidence, ...]
    relevance: float | None  # of the best passage; None if it could not be judged
    query_id: uuid.UUID | None
    is_second: bool = False  # other words were tried too

    def is_too_weak(self, call: Call) -> bool:
        """Whether to skip the writer: nothing found, or nothing related to the question."""
        if not self.evidence:
            return True
        return self.relevance is not None and self.relevance < call.min_relevance


def find(call: Call, question: str, progress: AnswerProgress) -> Findings:
    """Search for the question, and for other phrasings if requested."""
    request = _search_request(call, question)
    with progress.clock("search"):
        result = search(call.namespace_id, request)
        others = _expanded_results(call, question, progress)
    progress.searches.append(question)
    progress.fallbacks += result.diagnostics.fallbacks
    hits = expansion.fuse_results([result, *others], limit=request.k) if others else result.hits
    query_id = query_log.note(
        call.namespace_id,
        replace(request, query=call.request.search.query),
        result,
        filters=call.request.raw_filters,
    )
    return Findings(question, result, number_evidence(hits), _best(hits), query_id)


def find_again(
    call: Call, findings: Findings, progress: AnswerProgress, *, language: str, asks_model: bool
) -> Findings:
    """Search with other words: the model's, or only the question's content words."""
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


def _expanded_results(call: Call, question: str, progress: AnswerProgress) -> list[SearchResult]:
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
    if kind == "hyde":  # an invented passage: search by meaning, because its words are made up
        asked = [replace(request, mode="semantic") for request in asked]
    return [search(call.namespace_id, request) for request in asked]


def _other_words(
    question: str, progress: AnswerProgress, language: str, *, call: Call | None
) -> str:
    """`call` has the model to use; None to use no model."""
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
