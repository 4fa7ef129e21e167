"""The web process's own handler: a thread for a request, a stream that ends with its reader."""

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.core.signals import request_finished, request_started
from django.db import connections
from django.http import FileResponse, HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.urls import path
from django.views.decorators.csrf import csrf_exempt

from ragsite.web.one_thread import OneThreadHandler
from ragsite.web.threads import RequestThreads

pytestmark = pytest.mark.urls(__name__)

seen: dict[str, Any] = {}


@csrf_exempt
def plain(request: HttpRequest) -> HttpResponse:
    seen["view"] = threading.get_ident()
    return HttpResponse(request.body[::-1])


def together(request: HttpRequest) -> HttpResponse:
    """Answers only when another request is being answered too."""
    seen["barrier"].wait(10)
    return HttpResponse(str(threading.get_ident()))


def stream(request: HttpRequest) -> StreamingHttpResponse:
    async def parts() -> AsyncIterator[bytes]:
        try:
            while True:
                yield b"more"
                await asyncio.sleep(0.01)
        finally:
            seen["stream"] = "closed"

    return StreamingHttpResponse(parts())


def held_stream(request: HttpRequest) -> StreamingHttpResponse:
    seen.setdefault("threads", []).append(threading.get_ident())

    async def parts() -> AsyncIterator[bytes]:
        yield await sync_to_async(str(threading.get_ident()).encode)()
        await seen["go_on"].wait()
        seen["threads"].append(await sync_to_async(threading.get_ident)())

    return StreamingHttpResponse(parts())


def broken_stream(request: HttpRequest) -> StreamingHttpResponse:
    async def parts() -> AsyncIterator[bytes]:
        yield b"some"
        raise ValueError("in the middle")

    return StreamingHttpResponse(parts())


def file(request: HttpRequest) -> HttpResponseBase:
    return FileResponse(open(__file__, "rb"))


urlpatterns = [
    path("plain", plain),
    path("together", together),
    path("stream", stream),
    path("held", held_stream),
    path("broken", broken_stream),
    path("file", file),
]


async def ask(
    handler: OneThreadHandler,
    url: str,
    body: bytes = b"",
    *,
    until: Callable[[list[Any]], bool] = lambda sent: False,
) -> list[Any]:
    """What is sent; the client leaves when `until` is true of that."""
    sent: list[Any] = []
    left = asyncio.Event()
    waiting = [{"type": "http.request", "body": body}]

    async def receive() -> Any:
        if waiting:
            return waiting.pop()
        await left.wait()
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        sent.append(message)
        if until(sent):
            left.set()

    scope = {
        "type": "http",
        "method": "POST" if body else "GET",
        "path": url,
        "headers": [(b"host", b"localhost")],
        "query_string": b"",
    }
    await asyncio.wait_for(handler(scope, receive, send), 10)
    return sent


def body_of(sent: list[Any]) -> bytes:
    return b"".join(message.get("body", b"") for message in sent)


@pytest.fixture(autouse=True)
def _signals() -> Any:
    def note(name: str) -> Callable[..., None]:
        def receiver(**_: Any) -> None:
            seen[name] = threading.get_ident()

        return receiver

    started, finished = note("started"), note("finished")
    seen.clear()
    request_started.connect(started)
    request_finished.connect(finished)
    yield
    request_started.disconnect(started)
    request_finished.disconnect(finished)


def test_all_of_a_request_is_in_one_thread_and_the_next_one_takes_it_again():
    handler = OneThreadHandler()

    async def two() -> tuple[list[Any], int, list[Any], int]:
        first = await ask(handler, "/plain", b"abc")
        thread = seen["view"]
        assert {seen["started"], seen["finished"]} == {thread}
        await asyncio.sleep(0.05)  # until it is put back
        return first, thread, await ask(handler, "/plain", b"def"), seen["view"]

    first, thread, second, again = asyncio.run(two())
    assert (body_of(first), body_of(second)) == (b"cba", b"fed")
    assert first[0]["status"] == 200
    assert thread == again != threading.get_ident()


def test_two_at_once_have_a_thread_each():
    handler = OneThreadHandler()

    async def two() -> list[list[Any]]:
        seen["barrier"] = threading.Barrier(2)
        return await asyncio.gather(ask(handler, "/together"), ask(handler, "/together"))

    first, second = asyncio.run(two())
    assert (first[0]["status"], second[0]["status"]) == (200, 200)
    assert body_of(first) != body_of(second)


def test_a_stream_ends_when_its_reader_leaves():
    sent = asyncio.run(ask(OneThreadHandler(), "/stream", until=lambda sent: len(sent) > 3))
    assert body_of(sent).startswith(b"moremore")
    assert seen["stream"] == "closed"
    assert "finished" in seen


def test_streams_have_no_thread_of_their_own():
    handler = OneThreadHandler()

    async def open_one_after_the_other() -> None:
        seen["go_on"] = asyncio.Event()
        streams = []
        for _ in range(10):
            first = asyncio.Event()

            def begun(sent: list[Any], first: asyncio.Event = first) -> bool:
                if len(sent) > 1:
                    first.set()
                return False

            streams.append(asyncio.create_task(ask(handler, "/held", until=begun)))
            await asyncio.wait_for(first.wait(), 10)
        seen["go_on"].set()
        await asyncio.gather(*streams)

    asyncio.run(open_one_after_the_other())
    assert len(seen["threads"]) == 20
    assert len(set(seen["threads"][:10])) < 5  # all ten were open, a few threads served them


def test_idle_threads_are_kept_only_to_a_number():
    threads = RequestThreads(max_idle=2)
    together = threading.Barrier(5)
    work = [threads.submit(together.wait, 10) for _ in range(5)]
    for one in work:
        one.result(10)
    deadline = time.monotonic() + 10
    while len(threads._idle) < 2 and time.monotonic() < deadline:
        time.sleep(0.01)
    assert len(threads._idle) == 2


@pytest.mark.usefixtures("db")
def test_work_in_a_request_thread_gives_its_pooled_connection_back(monkeypatch: Any):
    own = connections["default"].copy()
    options = {**own.settings_dict["OPTIONS"], "pool": {"min_size": 1, "max_size": 1}}
    own.settings_dict |= {"OPTIONS": options, "CONN_MAX_AGE": 0, "CONN_HEALTH_CHECKS": False}

    def query() -> bool:
        own.inc_thread_sharing()
        monkeypatch.setattr(connections, "all", lambda initialized_only=False: [own])
        _backend(own)
        return own.connection is not None

    try:
        assert RequestThreads().submit(query).result(10)
        assert own.connection is None
        assert own.pool.get_stats()["pool_available"] == 1
    finally:
        monkeypatch.undo()
        own.close()
        own.close_pool()


def test_a_stream_that_breaks_is_told_to_the_server_and_ends():
    with pytest.raises(ValueError, match="in the middle"):
        asyncio.run(ask(OneThreadHandler(), "/broken"))
    assert "finished" in seen


@pytest.mark.filterwarnings("error:StreamingHttpResponse must consume synchronous")
def test_a_file_is_sent_whole():
    sent = asyncio.run(ask(OneThreadHandler(), "/file"))
    with open(__file__, "rb") as whole:
        assert body_of(sent) == whole.read()


def test_an_unknown_address_is_not_found():
    assert asyncio.run(ask(OneThreadHandler(), "/nowhere"))[0]["status"] == 404


def test_nothing_but_http_is_spoken():
    with pytest.raises(ValueError, match="websocket"):
        asyncio.run(OneThreadHandler()({"type": "websocket"}, None, None))


@pytest.mark.usefixtures("db")
def test_a_pooled_connection_that_the_server_has_closed_is_not_used_again():
    own = connections["default"].copy()
    options = {**own.settings_dict["OPTIONS"], "pool": {"min_size": 1, "max_size": 1}}
    own.settings_dict |= {"OPTIONS": options, "CONN_MAX_AGE": 0, "CONN_HEALTH_CHECKS": False}
    try:
        first = _backend(own)
        own.close()  # back to the pool
        assert _backend(own) == first
        own.close()
        with connections["owner"].cursor() as cursor:
            cursor.execute("SELECT pg_terminate_backend(%s, 5000)", [first])
        assert _backend(own) != first
    finally:
        own.close()
        own.close_pool()


def _backend(wrapper: Any) -> int:
    with wrapper.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        (number,) = cursor.fetchone()
        return int(number)
