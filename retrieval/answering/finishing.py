"""Finish the answer: judge its sentences, compare its values, book its cost."""

from collections.abc import Sequence
from dataclasses import replace

from django.conf import settings

from documents.errors import IngestError
from documents.language_models.base import ChatRequest, Usage
from documents.metering.language_models import book_usage
from ragsite.platform.backends import load_backend
from retrieval.answering.checks.checking import AnswerChecker
from retrieval.answering.checks.support import judge_sentences
from retrieval.answering.model_writer import ModelWriter
from retrieval.answering.values.values import uncited_sentences, unsupported_values
from retrieval.answering.writers.base import WritingTask

from .call import AnswerProgress, Call
from .checks import verifying
from .finding import Findings
from .messages import phrases_for
from .requests import AnswerResult, AnswerSentence, Uncertainty

NO_MODEL = "none"  # the model, if none was called


def finish_answer(
    call: Call,
    findings: Findings,
    checker: AnswerChecker,
    progress: AnswerProgress,
    *,
    task: WritingTask,
    finish: str,
) -> AnswerResult:
    """Return the result of a written answer."""
    text, citations, language = checker.text, checker.citations, task.language
    with progress.clock("judge"):
        sentences = _sentences(task, checker, progress)
        uncertainties = (
            *task.conflicts,
            *checker.uncertainties,
            *unsupported_values(text, citations, question=task.question, language=language),
            *uncited_sentences(text, citations, language=language),
        )
    problems = [one for one in uncertainties if one.kind != "conflict"]
    result = replace(
        _base(call, findings, checker, progress),
        is_answered=True,
        grounded=bool(checker.citations) and not problems,
        model=call.alias,
        finish=finish,
        sentences=sentences,
        uncertainties=uncertainties,
    )
    if call.request.verify:
        result = _verified(call, result, progress)
    return _booked(call, result, progress)


def finish_abstention(
    call: Call,
    findings: Findings,
    checker: AnswerChecker,
    progress: AnswerProgress,
    *,
    missing: str,
) -> AnswerResult:
    """Return the result for a question with too little information; `checker` has the text that
    was sent instead of an answer."""
    was_asked = bool(progress.usage.prompt_tokens)
    result = replace(
        _base(call, findings, checker, progress),
        missing=missing,
        model=call.alias if was_asked or (call.model is None and findings.evidence) else NO_MODEL,
    )
    return _booked(call, result, progress)


def book_unfinished(call: Call, task: WritingTask, written: str, progress: AnswerProgress) -> None:
    """Book the cost of an answer that broke off or was cancelled."""
    usage = progress.usage
    if written and isinstance(call.writer, ModelWriter):
        prompt = ChatRequest(call.writer.messages(task))
        usage += call.writer.model.estimate_usage(prompt, written)
    if call.model is not None and usage != Usage():
        book_usage(call.model, call.namespace_id, usage)


def conflict_note(conflicts: Sequence[Uncertainty], written: str, *, language: str) -> str:
    """Return a sentence about conflicting values if the answer relies on only one of them."""
    notes = []
    for conflict in conflicts:
        is_concerned = any(f"[cite:{value.evidence_id}]" in written for value in conflict.values)
        if is_concerned and not all(value.text in written for value in conflict.values):
            listed = "; ".join(f"“{v.text}” [cite:{v.evidence_id}]" for v in conflict.values)
            notes.append(phrases_for(language).disagree.format(values=listed))
    return " ".join(notes)


def _base(
    call: Call, findings: Findings, checker: AnswerChecker, progress: AnswerProgress
) -> AnswerResult:
    return AnswerResult(
        text=checker.text,
        question=findings.question,
        is_answered=False,
        grounded=False,
        missing="",
        evidence=findings.evidence,
        citations=checker.citations,
        sentences=(),
        uncertainties=(),
        report=checker.report,
        model=NO_MODEL,
        usage=progress.usage,
        cost=None,
        finish="stop",
        searches=tuple(progress.searches),
        fallbacks=tuple(progress.fallbacks),
        notes=findings.result.diagnostics.notes,
        times_ms=progress.clock.times_ms,
        query_id=findings.query_id,
        search_diagnostics=findings.result.diagnostics,
        search_cache=findings.result.cache,
        relevance=findings.relevance,
    )


def _sentences(
    task: WritingTask, checker: AnswerChecker, progress: AnswerProgress
) -> tuple[AnswerSentence, ...]:
    text, citations, language = checker.text, checker.citations, task.language
    try:
        return judge_sentences(text, citations, embed=task.embed, language=language)
    except IngestError as error:  # support by words alone
        progress.fallbacks.append(f"support_by_words: {error.code}")
        return judge_sentences(text, citations, embed=None, language=language)


def _verified(call: Call, result: AnswerResult, progress: AnswerProgress) -> AnswerResult:
    alias = settings.ANSWERS["verifier"]
    if not alias:
        progress.fallbacks.append("not_verified: no verifier is configured")
        return result
    judge = load_backend("LANGUAGE_MODELS", alias)
    with progress.clock("verify"):
        verified = verifying.verify(
            result, judge, style=settings.ANSWERS["verifier_style"], deadline=call.deadline
        )
    book_usage(judge, call.namespace_id, verified.usage)
    progress.fallbacks += verified.fallbacks
    return replace(
        result,
        verification=verified.verification,
        citations=verified.citations,
    )


def _booked(call: Call, result: AnswerResult, progress: AnswerProgress) -> AnswerResult:
    cost = None
    if call.model is not None and progress.usage != Usage():
        cost = book_usage(call.model, call.namespace_id, progress.usage)
    progress.clock.since("total", progress.started)
    return replace(
        result,
        cost=None if cost is None else float(cost),
        usage=progress.usage,
        fallbacks=tuple(progress.fallbacks),
        times_ms=dict(progress.clock.times_ms),
    )
