"""Spans of searches, answers, rerankers and indexing, as a collector gets them."""

import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from documents.models import Namespace
from documents.providers.errors import ProviderUnavailable
from documents.providers.http_api import Provider
from ragsite.platform import metrics, spans
from ragsite.platform.logs import request_id

from .. import embedding_server
from ..client import Api

QUESTION = "How is the kiln heated?"


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> Callable[[], dict[str, ReadableSpan]]:
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(spans, "_tracer", lambda: provider.get_tracer("tests"))
    return lambda: {span.name: span for span in exporter.get_finished_spans()}


def attributes(span: ReadableSpan) -> dict[str, Any]:
    return {name.removeprefix("rag."): value for name, value in (span.attributes or {}).items()}


def test_indexing_searching_and_answering_leave_spans(
    api: Api, work: Callable[[], int], tenant: Namespace, sent: Callable[[], Any]
):
    api.upload(("a.md", "# Kiln\n\nThe kiln is heated slowly with beech wood."))
    work()
    indexed = attributes(sent()["rag.indexer.index_documents"])
    assert indexed["namespace"] == str(tenant.pk)
    assert (indexed["chunks"], indexed["profile"]) == (1, "hashing")
    assert indexed["embed_ms"] >= 0
    api.query(QUESTION, rerank="cosine")
    api.post("answer", {"query": QUESTION})
    found = sent()
    searched = attributes(found["rag.retriever.retrieve_documents"])
    assert searched["namespace"] == str(tenant.pk)
    assert searched["hits"] == 1
    assert searched["request_id"]
    reranker = found["rag.reranker.cosine"]
    assert attributes(reranker)["passages"] == 1
    assert reranker.parent is not None
    answered = found["rag.answer"]
    assert attributes(answered)["sources"] == 1
    assert attributes(answered)["search_ms"] > 0
    assert searched["vector_ms"] > 0
    assert searched["fallbacks"] == ()
    assert [type(score) for score in searched["scores"]] == [float]
    assert found["rag.retriever.retrieve_documents"].parent == answered.context
    everything = str([attributes(span) for span in found.values()])
    assert "kiln" not in everything.lower()
    assert "beech" not in everything


def test_a_failure_is_marked_by_its_kind_alone(sent: Callable[[], Any]):
    with (
        request_id("trace-1"),
        pytest.raises(ValueError, match="secret"),
        spans.span("broken"),
    ):
        raise ValueError("a secret")
    (broken,) = sent().values()
    assert broken.status.description == "ValueError"
    assert broken.events == ()
    assert attributes(broken)["request_id"] == "trace-1"


@pytest.fixture
def collector() -> Iterator[tuple[str, list[bytes]]]:
    received: list[bytes] = []

    class Collector(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            received.append(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Collector)
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/v1/traces", received
    server.shutdown()
    server.server_close()


def test_spans_are_sent_to_a_collector(collector: tuple[str, list[bytes]], settings: Any):
    url, received = collector
    settings.TRACES = {"url": url, "headers": {}, "share": 1.0}
    spans._tracer.cache_clear()
    try:
        with spans.span("rag.retriever.retrieve_documents", top_k=10):
            pass
        spans._tracer().span_processor.force_flush()
    finally:
        spans._tracer.cache_clear()
    assert b"rag.retriever.retrieve_documents" in b"".join(received)
    assert b"ragsite" in b"".join(received)


def test_without_a_collector_nothing_is_loaded(settings: Any):
    assert settings.TRACES["url"] == ""
    spans._tracer.cache_clear()
    with spans.span("nothing", a=1) as span:
        assert type(span) is spans.Span


def test_calls_to_providers_carry_the_request_id_and_failures_are_counted(embedding_site: str):
    embedding_server.Handler.forget()
    body = {"input": ["a lamp"], "model": "m"}
    with request_id("trace-9"):
        Provider(f"{embedding_site}/good/v1", "/embeddings").post(body, deadline=_soon())
    assert embedding_server.Handler.seen[-1]["request_id"] == "trace-9"
    failures = metrics.PROVIDER_ERRORS.labels("provider_unavailable")._value
    before = failures.get()
    with pytest.raises(ProviderUnavailable):
        Provider("http://127.0.0.1:9/v1", "/embeddings").post(body, deadline=_soon())
    assert failures.get() == before + 1


def _soon() -> float:
    return time.monotonic() + 60
