"""The client's own rules: retries, errors, streams, secrets. The server is a script."""

import asyncio
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from ragsite_client import (
    AsyncClient,
    Client,
    ConnectionFailed,
    Delta,
    Failed,
    InvalidRequest,
    NewFact,
    RagsiteError,
    RateLimited,
    StreamBroken,
    TimedOut,
    UnexpectedResponse,
)
from ragsite_client.anthropic import search_results
from ragsite_client.models import Hit

KEY = "rs_prefix_verysecret"
HIT = {
    "chunk_id": "c",
    "document_id": "d",
    "document_version": 1,
    "title": "Kiln",
    "source_uri": "upload:kiln.md",
    "section": "Kiln > Firing",
    "page": None,
    "page_end": None,
    "ordinal": 0,
    "span": {"start": 0, "end": 4},
    "kind": "text",
    "mime": "text/markdown",
    "created_at": "2026-01-01T00:00:00Z",
    "collection": None,
    "fact": None,
    "content": "Heat",
    "relevance": 1,
    "scores": {"vector": 0.5, "lexical": 1, "fused": 1, "rerank": None, "boost": None, "final": 1},
    "ranks": {"vector": 1, "lexical": 1, "fused": 1, "rerank": None},
    "highlights": [],
    "merged_chunk_ids": [],
    "metadata": {},
    "chunk_metadata": {},
    "collections": [],
    "tags": [],
}
FIELDS = [{"field": "k", "code": "min_value", "message": "bad"}]
QUOTA = {"used": 1, "quota": None}
USAGE = {
    "namespace": "n",
    "documents": QUOTA,
    "bytes": QUOTA,
    "chunks": QUOTA,
    "language_models": [],
    "rate_limits": {},
    "new_in_1_1": "kept",
}


def refusal(status: int, code: str, **headers: str) -> httpx2.Response:
    error = {"code": code, "message": "No.", "details": {"fields": FIELDS}}
    body = {"error": {**error, "request_id": "r-1"}}
    return httpx2.Response(
        status, json=body, headers={k.replace("_", "-"): v for k, v in headers.items()}
    )


class Script:
    """Answers one after the other; an exception is raised instead."""

    def __init__(self, *answers: Any) -> None:
        self.answers, self.requests = list(answers), list[httpx2.Request]()

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        request.read()
        self.requests.append(request)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer if isinstance(answer, httpx2.Response) else httpx2.Response(200, json=answer)

    def client(self, **options: Any) -> Client:
        transport = httpx2.MockTransport(self)
        return Client(
            "http://ragsite.test", KEY, http=httpx2.Client(transport=transport), **options
        )


@pytest.fixture(autouse=True)
def pauses(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[float]]:
    slept: list[float] = []
    monkeypatch.setattr("ragsite_client.client.time.sleep", slept.append)
    return slept


def test_what_was_refused_for_now_is_asked_again_when_the_server_says(pauses: list[float]):
    script = Script(refusal(429, "rate_limited", Retry_After="3"), USAGE)
    usage = script.client().usage()
    assert pauses == [3.0]
    assert usage.model_extra == {"new_in_1_1": "kept"}
    assert script.requests[0].headers["Authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize(
    ("answers", "tries"),
    [
        ([refusal(429, "rate_limited", Retry_After="999"), USAGE], 1),  # longer than anybody waits
        ([refusal(429, "rate_limited"), USAGE], 1),
        ([refusal(500, "server_error"), USAGE], 1),
        ([refusal(429, "rate_limited", Retry_After="1")] * 3, 3),
    ],
)
def test_other_refusals_are_raised(answers: list[Any], tries: int):
    script = Script(*answers)
    with pytest.raises(RagsiteError) as raised:
        script.client().usage()
    assert len(script.requests) == tries
    assert raised.value.request_id == "r-1"  # type: ignore[attr-defined]


FACT: NewFact = {"subject": "Ada", "predicate": "lives in", "object": "Oslo"}
ACTS: dict[str, Callable[[Client], Any]] = {
    "query": lambda client: client.query("q"),
    "document": lambda client: client.document("d"),
    "ingest": lambda client: client.ingest_text("text"),
    "upload": lambda client: client.ingest_files(("a.md", b"text")),
    "answer": lambda client: client.answer("q"),
    "delete": lambda client: client.delete_document("d"),
    "feedback": lambda client: client.feedback(query_id="q", useful=True),
    "state": lambda client: client.state_fact(FACT),
    "state by id": lambda client: client.state_fact({**FACT, "statement_id": "1"}),
    "find facts": lambda client: client.search_facts("q"),
    "retract": lambda client: client.retract_fact("f"),
    "propose": lambda client: client.propose_facts("text"),
    "erase": lambda client: client.erase_facts(subject="Ada"),
}
HARMLESS = {"query", "document", "ingest", "upload", "state by id", "find facts"}


@pytest.mark.parametrize("act", sorted(ACTS))
def test_only_what_is_harmless_is_repeated_after_a_broken_connection(act: str):
    script = Script(*[httpx2.ReadError("reset")] * 3)
    with pytest.raises(ConnectionFailed):
        ACTS[act](script.client())
    assert len(script.requests) == (3 if act in HARMLESS else 1)


@pytest.mark.parametrize("act", sorted(ACTS))
def test_what_never_reached_the_server_is_repeated(act: str):
    script = Script(*[httpx2.ConnectError("refused")] * 3)
    with pytest.raises(ConnectionFailed):
        ACTS[act](script.client())
    assert len(script.requests) == 3


def test_what_took_too_long_is_not_asked_again():
    script = Script(httpx2.ReadTimeout("slow"))
    with pytest.raises(TimedOut):
        script.client().query("q")


def test_errors_carry_what_a_program_needs():
    refused = refusal(429, "rate_limited", Retry_After="7")
    with pytest.raises(RateLimited, match=r"No\. \[rate_limited, request r-1\]") as raised:
        Script(refused).client(max_retries=0).query("q")
    error = raised.value
    assert (error.code, error.status, error.request_id) == ("rate_limited", 429, "r-1")
    assert error.retry_after == 7
    with pytest.raises(InvalidRequest) as invalid:
        Script(refusal(422, "invalid_request")).client().query("q", k=0)
    assert invalid.value.fields == {"k": "bad"}


@pytest.mark.parametrize(
    "answer",
    [
        httpx2.Response(502, text="<html>bad gateway</html>"),
        httpx2.Response(200, text="<html>sign in</html>"),
        httpx2.Response(302, headers={"Location": "http://elsewhere.test/"}),
        httpx2.Response(200, json={"namespace": "n"}),
    ],
)
def test_something_else_than_this_api_is_named_so(answer: httpx2.Response):
    script = Script(answer)
    with pytest.raises(UnexpectedResponse):
        script.client(max_retries=0).usage()
    assert len(script.requests) == 1  # a redirect is not followed: the key stays here


def test_pages_are_followed_by_their_cursor_alone():
    one = {"results": [], "next": "http://elsewhere.test/api/v1/documents?cursor=a%3Db&limit=9"}
    script = Script(one, {"results": [], "next": None})
    assert list(script.client().documents(tag="x")) == []
    second = script.requests[1].url
    assert second.host == "ragsite.test"
    assert dict(second.params) == {"tag": "x", "limit": "200", "cursor": "a=b"}


def test_an_upload_reports_progress_and_starts_again_after_a_failure(tmp_path: Path):
    path = tmp_path / "big.txt"
    path.write_bytes(b"x" * 200_000)
    reports: list[tuple[int, int]] = []
    busy = refusal(503, "busy", Retry_After="1")
    done = {"failed": 0, "error": None, "warnings": [], "namespace": "n", "indexed": 0}
    script = Script(busy, {**done, "results": []})
    options: Any = {"tags": ["a,b"], "metadata": {"year": 2026}}
    files = (path, ("note.md", b"# Note"))
    script.client().ingest_files(*files, on_progress=lambda *at: reports.append(at), **options)
    first = [sent for sent, _ in reports[: len(reports) // 2]]
    assert reports == [(sent, 200_006) for sent in first] * 2  # once for each attempt
    assert len(first) > 3
    assert first[-1] == 200_006
    assert first == sorted(first)
    body = script.requests[1].content
    assert body.count(b"x" * 200_000) == 1
    assert json.dumps([options] * 2).encode() in body


def test_descriptions_must_match_the_files():
    with pytest.raises(RagsiteError, match="each: 1 entries for 2 files"):
        Script().client().ingest_files(("a", b"a"), ("b", b"b"), each=[{"title": "A"}])


class Broken(httpx2.SyncByteStream, httpx2.AsyncByteStream):
    """Events, then the connection breaks or just ends."""

    def __init__(self, error: Exception | None) -> None:
        self.error = error

    def __iter__(self) -> Iterator[bytes]:
        yield b': still here\n\nevent: delta\ndata: {"text": "He'
        yield b'llo"}\n\nevent: of-a-newer-server\ndata: {}\n\n'
        if self.error:
            raise self.error

    async def __aiter__(self) -> Any:
        for piece in self:
            yield piece


@pytest.mark.parametrize("error", [None, httpx2.ReadError("reset")])
def test_a_stream_that_breaks_ends_with_failed_and_is_not_resumed(error: Exception | None):
    script = Script(httpx2.Response(200, stream=Broken(error)))
    with script.client().stream_answer("q") as stream:
        *before, last = stream
        assert before == [Delta("Hello")]
        assert isinstance(last, Failed)
        assert isinstance(last.error, ConnectionFailed)
        with pytest.raises(ConnectionFailed):
            stream.answer()
    assert len(script.requests) == 1


def test_an_asynchronous_stream_breaks_the_same_way():
    async def read() -> list[Any]:
        transport = httpx2.MockTransport(lambda _: httpx2.Response(200, stream=Broken(None)))
        http = httpx2.AsyncClient(transport=transport)
        client = AsyncClient("http://ragsite.test", KEY, http=http)
        async with client, await client.stream_answer("q") as stream:
            return [event async for event in stream]

    first, last = asyncio.run(read())
    assert first == Delta("Hello")
    assert isinstance(last, Failed)
    assert isinstance(last.error, StreamBroken)


def test_address_and_key_come_from_the_environment(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("RAGSITE_URL", "http://ragsite.test/api/v1/")
    monkeypatch.setenv("RAGSITE_API_KEY", KEY)
    script = Script(USAGE)
    with Client(http=httpx2.Client(transport=httpx2.MockTransport(script))) as client:
        client.usage()
    assert str(script.requests[0].url) == "http://ragsite.test/api/v1/usage"
    monkeypatch.delenv("RAGSITE_API_KEY")
    with pytest.raises(RagsiteError, match="RAGSITE_API_KEY"):
        Client()


def test_the_key_is_never_shown():
    client = Script(httpx2.ConnectError("refused")).client(max_retries=0)
    with pytest.raises(ConnectionFailed) as raised:
        client.query("q")
    for shown in (repr(client), repr(client._settings), repr(vars(client)), str(raised.value)):
        assert "verysecret" not in shown


def test_hits_become_search_results():
    hit = Hit.model_validate(HIT)
    assert search_results([hit, hit.model_copy(update={"content": " "})]) == [
        {
            "type": "search_result",
            "source": "upload:kiln.md",
            "title": "Kiln > Firing",
            "content": [{"type": "text", "text": "Heat"}],
            "citations": {"enabled": True},
        }
    ]
