"""Spans around searches, rerankers, answers and indexing, sent to an OpenTelemetry collector.

Off unless TRACES_URL is set; the packages are in requirements/tracing.txt. Spans hold counts,
times, the namespace's id and the configuration: no question, no text of a document, no key.
"""

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Any

from django.conf import settings

from ragsite.platform.logs import current_request_id

logger = logging.getLogger(__name__)

SERVICE = "ragsite"


class Span:
    """A span that is not sent anywhere. Attributes can be added while it is open."""

    def set(self, **attributes: Any) -> None: ...

    @contextmanager
    def as_parent(self) -> Iterator[None]:
        """Make spans opened inside children of this one."""
        yield

    def failed(self, error: BaseException) -> None: ...

    def end(self) -> None: ...


class _SentSpan(Span):
    def __init__(self, span: Any) -> None:
        self._span = span

    def set(self, **attributes: Any) -> None:
        for name, value in attributes.items():
            if value is not None:
                self._span.set_attribute(f"rag.{name}", _as_attribute(value))

    @contextmanager
    def as_parent(self) -> Iterator[None]:
        from opentelemetry.trace import use_span

        with use_span(self._span, record_exception=False, set_status_on_exception=False):
            yield

    def failed(self, error: BaseException) -> None:
        from opentelemetry.trace import StatusCode

        # Only its kind, because a message may quote the question.
        self._span.set_status(StatusCode.ERROR, type(error).__name__)

    def end(self) -> None:
        self._span.end()


def _as_attribute(value: Any) -> Any:
    """Numbers and lists of them stay what they are; everything else, such as an id, is text."""
    if isinstance(value, bool | int | float | str):
        return value
    return [*value] if isinstance(value, list | tuple) else str(value)


_NOWHERE = Span()


@contextmanager
def span(name: str, **attributes: Any) -> Iterator[Span]:
    """Measure a block; spans opened inside it are its children."""
    tracer = _tracer()
    if tracer is None:
        yield _NOWHERE
        return
    with tracer.start_as_current_span(
        name, record_exception=False, set_status_on_exception=False
    ) as opened:
        sent = _SentSpan(opened)
        sent.set(request_id=current_request_id(), **attributes)
        try:
            yield sent
        except Exception as error:
            sent.failed(error)
            raise


def times_of(times_ms: Mapping[str, float]) -> dict[str, float]:
    """Return the times of stages as attributes."""
    return {f"{stage}_ms": ms for stage, ms in times_ms.items()}


def started_span(name: str, **attributes: Any) -> Span:
    """Return a span that the caller ends, for generators that continue in other threads."""
    tracer = _tracer()
    if tracer is None:
        return _NOWHERE
    sent = _SentSpan(tracer.start_span(name))
    sent.set(request_id=current_request_id(), **attributes)
    return sent


@cache
def _tracer() -> Any:
    """Return None if traces are switched off."""
    if not settings.TRACES["url"]:
        return None
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor
    from opentelemetry.sdk.trace.sampling import ParentBasedTraceIdRatio

    provider = TracerProvider(
        resource=Resource.create({"service.name": SERVICE}),
        sampler=ParentBasedTraceIdRatio(settings.TRACES["share"]),
    )
    exporter = OTLPSpanExporter(settings.TRACES["url"], headers=settings.TRACES["headers"])
    provider.add_span_processor(BatchSpanProcessor(exporter))
    return provider.get_tracer(SERVICE)
