"""Run one golden query through the answer pipeline and measure the answer.

A measure without anything to judge by is left out instead of being 0.
"""

import time
import uuid
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import regex

from documents.language_models.base import LanguageModelFailed
from evaluation.measures.answers import parts_of
from evaluation.measures.matching import Judged, RankedPassage, meets
from evaluation.runs.citation_audit import MARKER, unequal_citations, unknown_markers
from retrieval.answering.answer import answer
from retrieval.answering.requests import AnswerEvent, AnswerRequest, AnswerResult, TextEvent
from retrieval.cache import results

from .asking import PreparedQuery
from .options import RunOptions

_UNSPACED = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}]")
_NOT_A_WORD = regex.compile(r"[^\p{L}\p{N}%€$£¥]+")


@dataclass(frozen=True, slots=True)
class MeasuredAnswer:
    metrics: Mapping[str, float]
    times_ms: Mapping[str, float]
    fallbacks: Sequence[str] = field(default_factory=list)


def measure_answer(
    namespace_id: uuid.UUID, question: PreparedQuery, options: RunOptions
) -> MeasuredAnswer:
    """Answer the query without caches, and measure. A model failure is counted with its code."""
    request = AnswerRequest(
        search=options.asked(question.text, question.filters),
        model=options.model,
        verify=options.verify,
    )
    times: dict[str, float] = {}
    started = time.perf_counter()
    result: AnswerResult | None = None
    try:
        with results.bypassed():
            for event in answer(namespace_id, request):
                if isinstance(event, TextEvent):
                    times.setdefault("answer_first_text", _since(started))
                elif isinstance(event, AnswerEvent):
                    result = event.result
    except LanguageModelFailed as error:
        return MeasuredAnswer({"answer_failures": 1.0}, times, [f"answer_failed: {error.code}"])
    if result is None:
        raise RuntimeError("An answer ended without its last event.")
    times["answer"] = _since(started)
    unequal = len(unequal_citations(namespace_id, result.citations))
    metrics = figures(result, question, unequal=unequal)
    return MeasuredAnswer(metrics, times, list(result.fallbacks))


def figures(result: AnswerResult, question: PreparedQuery, *, unequal: int) -> dict[str, float]:
    """`unequal` is the number of citations that differ from the stored text."""
    measured: dict[str, float | None] = {
        "answer_citations": len(result.citations),
        "answer_unknown_ids": result.report.unknown_ids,
        "answer_malformed_markers": result.report.malformed_markers,
        "answer_prompt_tokens": result.usage.prompt_tokens,
        "answer_completion_tokens": result.usage.completion_tokens,
        "answer_cost": result.cost,
        "answer_failures": 0,
    }
    if question.is_answerable:
        measured["answered@answerable"] = result.is_answered
        measured["answer@text"] = text_answers(result.text, question.judged)
        measured["answer@cited"] = _cites_the_answer(result, question.judged)
    else:
        measured["abstained@unanswerable"] = not result.is_answered
    if result.is_answered:
        measured |= _of_citations(result, unequal)
    return {name: float(value) for name, value in measured.items() if value is not None}


def _of_citations(result: AnswerResult, unequal: int) -> dict[str, float | None]:
    report = result.report
    quotes = report.quotes_exact + report.quotes_repaired + report.quotes_removed
    emitted = len(result.citations)
    wrong = unequal + len(unknown_markers(result))
    supports = [s.support for s in result.sentences if s.support is not None]
    verification = result.verification
    return {
        "quotes_exact": report.quotes_exact / quotes if quotes else None,
        "citations_equal": max(0.0, 1 - wrong / emitted) if emitted else None,
        "citation_recall": verification.citation_recall if verification else None,
        "citation_precision": verification.citation_precision if verification else None,
        "support": sum(supports) / len(supports) if supports else None,
        "grounded": result.grounded,
    }


def text_answers(text: str, judgements: Collection[Judged]) -> float | None:
    """Whether the answer contains the expected words, ignoring case and punctuation; None if no
    text is judged. Strict: a correct answer in different words does not count."""
    parts = parts_of(judgements)
    if not parts:
        return None
    answer_text = _plain(MARKER.sub(" ", text))
    return float(all(any(_contains(answer_text, _plain(t)) for t in texts) for texts in parts))


def _contains(text: str, expected: str) -> bool:
    """Whether the text occurs as whole words, or anywhere in scripts without spaces."""
    if _UNSPACED.search(expected):
        return expected in text
    return f" {expected} " in f" {text} "


def _plain(text: str) -> str:
    return " ".join(_NOT_A_WORD.sub(" ", text.casefold()).split())


def _cites_the_answer(result: AnswerResult, judgements: Collection[Judged]) -> float | None:
    """Whether one of its citations meets a relevant judgement."""
    relevant = [judged for judged in judgements if judged.grade > 0]
    cited = [RankedPassage(c.evidence.hit.source_uri, c.start, c.end) for c in result.citations]
    return float(any(meets(passage, judged) for passage in cited for judged in relevant))


def _since(started: float) -> float:
    return round((time.perf_counter() - started) * 1000, 2)
