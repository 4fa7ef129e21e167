"""Logs, metrics and traces of an answer: figures and names, never the question or the answer."""

import logging
import time
import uuid
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager

from documents.language_models.base import Cancelled, LanguageModelFailed
from ragsite.platform import metrics
from ragsite.platform.spans import Span, started_span, times_of

from .requests import AnswerResult, Event

logger = logging.getLogger(__name__)


class ObservedAnswer:
    def __init__(self, trace: Span) -> None:
        self.trace = trace
        self.is_done = False

    def steps(self, events: Generator[Event]) -> Iterator[Event]:
        """Yield the events, and let the searches between them be part of this answer's span."""
        with closing(events):
            while True:
                with self.trace.as_parent():
                    event = next(events, None)
                if event is None:
                    return
                yield event

    def done(self, result: AnswerResult) -> None:
        self.is_done = True
        fields = {
            "model": result.model,
            "is_answered": result.is_answered,
            "grounded": result.grounded,
            "sources": len(result.evidence),
            "citations": len(result.citations),
            "uncertainties": len(result.uncertainties),
            "searches": len(result.searches),
            "fallbacks": result.fallbacks,
            "prompt_tokens": result.usage.prompt_tokens,
            "completion_tokens": result.usage.completion_tokens,
        }
        logger.info("answer.done", extra={**fields, "times_ms": result.times_ms})
        metrics.ANSWERS.labels("answered" if result.is_answered else "abstained").inc()
        self.trace.set(**fields, **times_of(result.times_ms))


@contextmanager
def answering(namespace_id: uuid.UUID) -> Iterator[ObservedAnswer]:
    """Measure an answer from its first step to its last, which may be the reader's departure."""
    trace, started = started_span("rag.answer", namespace=namespace_id), time.perf_counter()
    observed = ObservedAnswer(trace)
    try:
        yield observed
    except (Cancelled, GeneratorExit):
        if not observed.is_done:  # a reader may stop after the last event
            metrics.ANSWERS.labels("cancelled").inc()
        raise
    except Exception as error:
        code = error.code if isinstance(error, LanguageModelFailed) else "failed"
        metrics.ANSWERS.labels(code).inc()
        trace.failed(error)
        raise
    finally:
        metrics.ANSWER_SECONDS.observe(time.perf_counter() - started)
        trace.end()
