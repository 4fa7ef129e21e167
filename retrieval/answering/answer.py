"""The answer pipeline: standalone question → search → evidence → writer → checks.

`answer` yields events as they become known. No database connection is held while a writer writes.
"""

import threading
import time
import uuid
from collections.abc import Generator, Iterator, Sequence
from dataclasses import replace

from django.conf import settings

from documents.errors import IngestError
from documents.language_models.base import AnswerPiece, Cancelled, LanguageModelFailed, Usage
from documents.text.languages import detect
from ragsite.web.threads import release_connections
from retrieval.answering.checks.checking import AnswerChecker
from retrieval.answering.model_writer import ModelWriter
from retrieval.answering.question.conversation import carry_terms, standalone_question
from retrieval.answering.question.second_search import content_words
from retrieval.answering.values.conflicts import find_conflicts
from retrieval.answering.writers.base import NotEnoughInformation, WritingTask

from .call import AnswerProgress, Call, prepare
from .finding import Findings, find, find_again
from .finishing import book_unfinished, conflict_note, finish_abstention, finish_answer
from .messages import about_words, not_enough_information
from .observing import answering
from .requests import (
    AnswerEvent,
    AnswerRequest,
    AnswerResult,
    Event,
    PromptPreview,
    SourcesEvent,
    TextEvent,
)

MAX_NAMED = 3  # words of the question, if nothing else is known to be missing


def answer(
    namespace_id: uuid.UUID,
    request: AnswerRequest,
    *,
    cancelled: threading.Event | None = None,
) -> Iterator[Event]:
    """Yield the sources, the checked text as it is written, and the whole answer at the end.

    Raises LanguageModelFailed, Cancelled, or ApiError for a model that is not configured.
    """
    with answering(namespace_id) as observed:
        for event in observed.steps(_answer(namespace_id, request, cancelled=cancelled)):
            if isinstance(event, AnswerEvent):
                observed.done(event.result)
            yield event


def _answer(
    namespace_id: uuid.UUID,
    request: AnswerRequest,
    *,
    cancelled: threading.Event | None = None,
) -> Generator[Event]:
    call, progress = (
        prepare(namespace_id, request, cancelled or threading.Event()),
        AnswerProgress(),
    )
    question = _standalone(call, progress)
    language = detect(question) or call.preferences.language or "en"
    findings = find(call, question, progress)
    if findings.is_too_weak(call):
        findings = find_again(call, findings, progress, language=language, asks_model=False)
    yield _sources(findings)
    missing = ""
    while not findings.is_too_weak(call):
        try:
            yield from _write(call, findings, progress, language=language)
            return
        except NotEnoughInformation as shortage:
            missing = shortage.missing or _about(call, shortage.words, language)
            progress.book(shortage.usage or Usage())
        if findings.is_second:
            break
        known = {item.id for item in findings.evidence}
        findings = find_again(call, findings, progress, language=language, asks_model=True)
        if {item.id for item in findings.evidence} <= known:
            break
        yield _sources(findings)
    missing = missing or _about(call, content_words(question, language)[:MAX_NAMED], language)
    yield from _abstain(call, findings, progress, language=language, missing=missing)


def answer_whole(
    namespace_id: uuid.UUID,
    request: AnswerRequest,
    *,
    cancelled: threading.Event | None = None,
) -> AnswerResult:
    """Return the whole answer at once."""
    for event in answer(namespace_id, request, cancelled=cancelled):
        if isinstance(event, AnswerEvent):
            return event.result
    raise RuntimeError("An answer ended without its last event.")


def prompt_for(namespace_id: uuid.UUID, request: AnswerRequest) -> PromptPreview:
    """Return the prompt that would be sent. Searches, but calls no model."""
    call, progress = prepare(namespace_id, request, threading.Event()), AnswerProgress()
    question = carry_terms(request.search.query, request.messages)
    findings = find(call, question, progress)
    if not isinstance(call.writer, ModelWriter):
        return PromptPreview(call.alias, (), findings.evidence, 0, "")
    task = _task(call, findings, language=detect(question) or "en")
    messages = call.writer.messages(task)
    tokens = sum(call.writer.model.count_tokens(message.content) for message in messages)
    template = call.writer.template_file or "retrieval/answering/prompt.txt"
    return PromptPreview(call.alias, messages, findings.evidence, tokens, template)


def _standalone(call: Call, progress: AnswerProgress) -> str:
    with progress.clock("question"):
        question, usage, fallback = standalone_question(
            call.request.search.query,
            call.request.messages,
            model=call.model,
            deadline=call.deadline,
            cancelled=call.cancelled,
        )
    progress.book(usage)
    if fallback:
        progress.fallbacks.append(fallback)
    return question


def _reply_language(call: Call, language: str) -> str:
    """Return the language of the server's own sentences: the namespace's, otherwise the
    question's."""
    return call.preferences.language or language


def _about(call: Call, words: Sequence[str], language: str) -> str:
    return about_words(words, language=_reply_language(call, language))


def _sources(findings: Findings) -> SourcesEvent:
    return SourcesEvent(findings.question, findings.evidence, findings.query_id)


def _task(call: Call, findings: Findings, *, language: str) -> WritingTask:
    min_relevance = call.preferences.min_relevance
    return WritingTask(
        question=findings.question,
        evidence=findings.evidence,
        request=call.request,
        preferences=call.preferences,
        min_relevance=settings.ANSWERS["min_relevance"] if min_relevance is None else min_relevance,
        conflicts=find_conflicts(findings.question, findings.evidence),
        embed=call.embed,
        language=language,
    )


def _write(
    call: Call, findings: Findings, progress: AnswerProgress, *, language: str
) -> Iterator[Event]:
    """Yield checked text as it is written, then the answer. Raises NotEnoughInformation first, if
    at all."""
    task = _task(call, findings, language=language)
    checker = AnswerChecker(task.evidence, language=language)
    release_connections()
    finish, written = "stop", ""
    started = time.perf_counter()
    pieces = _pieces(call, task)
    try:
        for piece in pieces:
            if not written and piece.text:
                progress.clock.since("first_text", started)
            written += piece.text
            for checked in checker.feed(piece.text):
                yield TextEvent(checked)
            progress.book(piece.usage or Usage())
            finish = piece.finish or finish
            if checker.is_full:  # the answer is at its maximum length
                finish = "length"
                break
    except (LanguageModelFailed, Cancelled, GeneratorExit):
        book_unfinished(call, task, written, progress)
        raise
    finally:
        pieces.close()
    note = conflict_note(task.conflicts, written, language=_reply_language(call, language))
    for checked in (*checker.feed(f"\n\n{note}" if note else ""), *checker.finish()):
        yield TextEvent(checked)
    progress.clock.since("write", started)
    result = finish_answer(call, findings, checker, progress, task=task, finish=finish)
    yield AnswerEvent(result)


def _pieces(call: Call, task: WritingTask) -> Generator[AnswerPiece, None, None]:
    """Yield the writer's pieces; compare by words alone if the embedder fails."""
    call.require_wanted()
    try:
        yield from call.writer.write(task, deadline=call.deadline, cancelled=call.cancelled)
    except IngestError:
        if task.embed is None:
            raise
        words_alone = replace(task, embed=None)
        yield from call.writer.write(words_alone, deadline=call.deadline, cancelled=call.cancelled)


def _abstain(
    call: Call, findings: Findings, progress: AnswerProgress, *, language: str, missing: str
) -> Iterator[Event]:
    checker = AnswerChecker((), language=language)
    text = not_enough_information(missing, language=_reply_language(call, language))
    for checked in (*checker.feed(text), *checker.finish()):
        yield TextEvent(checked)
    yield AnswerEvent(finish_abstention(call, findings, checker, progress, missing=missing))
