"""Run the answer pipeline for a client: its slot, its deadline, and how it ends.

JSON, server-sent events and WebSockets all use AnswerRun.
"""

import logging
import threading
import time
import uuid
from collections.abc import Iterator
from typing import Any

from django.conf import settings

from documents.language_models.base import Cancelled, LanguageModelFailed
from ragsite.platform.errors import ApiError, envelope_of
from ragsite.platform.logs import current_request_id, request_id
from ragsite.web import shutdown
from ragsite.web.client_watch import current_watch
from ragsite.web.generator_thread import GeneratorThread
from ragsite.web.guards.slots import SlotResult, Slots
from retrieval.answering import answer as pipeline
from retrieval.answering.requests import AnswerEvent, AnswerRequest, AnswerResult, Event

logger = logging.getLogger(__name__)

RETRY_AFTER = 5  # seconds
GRACE_SECONDS = 5.0  # beyond ANSWER_SECONDS, which the pipeline enforces itself
# Of the ten seconds that a stopping server waits for streams (ragsite/service/programs.py).
SHUTDOWN_SECONDS = 5.0

slots = Slots(
    per_owner=settings.ANSWER_RUNS["per_namespace"], total=settings.ANSWER_RUNS["at_once"]
)


class AnswerRun:
    """Takes a slot when created, or raises ApiError. `close` returns the slot of a run that was
    never started; otherwise it is free when the pipeline has ended."""

    def __init__(self, namespace_id: uuid.UUID, request: AnswerRequest, *, door: str) -> None:
        _take_slot(namespace_id)
        self.door, self.trace = door, current_request_id()
        self._is_ended = False
        self._began = time.monotonic()
        self._problem: ApiError | None = None

        def start(cancelled: threading.Event) -> Iterator[Event]:
            return pipeline.answer(namespace_id, request, cancelled=cancelled)

        self.events = GeneratorThread(start, on_end=lambda: slots.give_back(namespace_id))

    def close(self) -> None:
        """Cancel the run, or clean up after its end."""
        self.events.close()
        self._end("left")

    def check(self) -> ApiError | None:
        """Stop a run that takes too long or whose server is stopping. Call this regularly."""
        stopping = shutdown.seconds_since()
        if self._problem is None and stopping is not None and stopping > SHUTDOWN_SECONDS:
            message = "The server is restarting; ask again."
            self._stop(ApiError("shutting_down", message, http_status=503, retry_after=RETRY_AFTER))
        if self._problem is None and time.monotonic() - self._began > self._max_seconds():
            message = "The answer took too long and was stopped."
            self._stop(ApiError("answer_timeout", message, http_status=504))
        return self._problem

    def answered(self) -> None:
        """The pipeline has logged the answer itself."""
        self._is_ended = True

    def failed(self, error: Exception) -> Exception:
        """Return the ApiError for the error that ended the run."""
        if isinstance(error, Cancelled):
            gone = ApiError("cancelled", "The answer was cancelled.", http_status=499)
            error = self._problem or gone
        elif isinstance(error, LanguageModelFailed):
            error = as_api_error(error)
        self._end("failed", code=getattr(error, "code", type(error).__name__))
        return error

    def describe(self, error: Exception) -> dict[str, Any]:
        """Return the error envelope, for streams, whose HTTP status is already sent."""
        with request_id(self.trace):
            return envelope_of(self.failed(error))

    def _end(self, how: str, **fields: str) -> None:
        """Log an answer that failed."""
        if self._is_ended:
            return
        self._is_ended = True
        seconds = time.monotonic() - self._began
        fields = {"door": self.door, "ended": how, **fields, "ms": f"{seconds * 1000:.0f}"}
        with request_id(self.trace):  # a stream ends outside its request's context
            logger.info("answer.ended", extra=fields)

    def _stop(self, problem: ApiError) -> None:
        self._problem = problem
        self.events.cancelled.set()

    @staticmethod
    def _max_seconds() -> float:
        return float(settings.ANSWERS["seconds"]) + GRACE_SECONDS


def whole_answer(run: AnswerRun) -> AnswerResult:
    """Run in this thread until done or the client leaves. Raises errors for the client."""
    if watch := current_watch():
        watch.start(on_leave=run.close, on_tick=run.check)
    try:
        for event in run.events.iterate():
            if isinstance(event, AnswerEvent):
                run.answered()
                return event.result
        raise Cancelled if run.events.cancelled.is_set() else RuntimeError("No answer was given.")
    except Exception as error:
        raise run.failed(error) from error
    finally:
        run.close()


def as_api_error(error: LanguageModelFailed) -> ApiError:
    """Whether the message is our own and safe to show."""
    retry_after = RETRY_AFTER if error.http_status == 503 else None
    return ApiError(error.code, str(error), http_status=error.http_status, retry_after=retry_after)


def _take_slot(namespace_id: uuid.UUID) -> None:
    taken = slots.take(namespace_id)
    if taken is SlotResult.OWNER_FULL:
        message = f"This namespace has {slots.per_owner} answers under way; try again shortly."
        raise ApiError("too_many_answers", message, http_status=429, retry_after=RETRY_AFTER)
    if taken is SlotResult.ALL_FULL:
        message = "Too many answers are being written; try again shortly."
        raise ApiError("busy", message, http_status=503, retry_after=RETRY_AFTER)
