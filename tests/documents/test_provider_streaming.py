"""Streams of providers below any language model: lines, limits, and calls nobody wants any more."""

import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from documents.language_models.texts import CleanText
from documents.providers.errors import (
    ProviderBadResponse,
    ProviderRefused,
    ProviderTimeout,
    ProviderUnavailable,
)
from documents.providers.streaming import CallCancelled, StreamingProvider

from ..chat_server import Site, provider

BODY = {"messages": [{"role": "user", "content": "hi"}]}


@pytest.fixture
def site() -> Iterator[Site]:
    with provider() as server:
        yield server


@pytest.fixture
def silent() -> Iterator[int]:
    """The port of a server that takes connections and says nothing, not even hello."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def soon(seconds: float = 10.0) -> float:
    return time.monotonic() + seconds


def set_after(seconds: float) -> threading.Event:
    event = threading.Event()
    threading.Timer(seconds, event.set).start()
    return event


def no_threads_left(seconds: float = 30.0) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if not [thread for thread in threading.enumerate() if thread.name == "deadline"]:
            return True
        time.sleep(0.01)
    return False


def stream_raw(site: Site, *chunks: bytes, **options: Any) -> list[bytes]:
    def send(exchange: Any) -> None:
        exchange.open()
        for chunk in chunks:
            exchange.raw(chunk)
        exchange.close()

    site.behave("raw", send)
    api = StreamingProvider(site.url("raw"), "/api/chat", **options)
    return list(api.stream(BODY, deadline=soon()))


def test_lines_are_whole_however_they_were_cut(site: Site):
    lines = stream_raw(site, b"on", b"e\r", b"\ntw\xc3", b"\xb6\n\nthree\nfo", b"ur")
    assert lines == [b"one", "twö".encode(), b"", b"three", b"four"]


def test_a_line_and_a_stream_have_limits(site: Site):
    assert len(stream_raw(site, b"x" * 100 + b"\n", max_line_bytes=100)) == 1
    with pytest.raises(ProviderBadResponse):
        stream_raw(site, b"x" * 101, b"\n", max_line_bytes=100)
    with pytest.raises(ProviderBadResponse):
        stream_raw(site, *[b"x\n"] * 60, max_bytes=100)


def test_a_redirect_is_not_followed(site: Site):
    api = StreamingProvider(site.url("moved"), "/chat/completions", key="sk-secret")
    with pytest.raises(ProviderRefused):
        next(api.stream(BODY, deadline=soon()))
    assert len(site.requests) == 1


def test_cancelling_does_not_wait_for_a_name(monkeypatch: pytest.MonkeyPatch):
    release = threading.Event()

    def hangs(*args: Any, **kwargs: Any) -> Any:
        release.wait(10)
        raise OSError

    monkeypatch.setattr(socket, "getaddrinfo", hangs)
    api = StreamingProvider("http://slow-name.invalid", "/api/chat")
    with pytest.raises(CallCancelled):  # left to the name, it would be ProviderUnavailable
        next(api.stream(BODY, deadline=soon(), cancelled=set_after(0.2)))
    release.set()
    assert no_threads_left()


def test_hanging_names_take_no_more_threads_than_there_are_places(
    monkeypatch: pytest.MonkeyPatch,
):
    release, hanging = threading.Event(), []

    def hangs(*args: Any, **kwargs: Any) -> list[Any]:
        hanging.append(1)
        release.wait(60)
        return []

    monkeypatch.setattr(socket, "getaddrinfo", hangs)
    api = StreamingProvider("http://slow-name.invalid", "/api/chat", max_calls=2)
    while len(hanging) < 2:  # a call whose time is over before it begins takes no place
        with pytest.raises(ProviderTimeout):
            next(api.stream(BODY, deadline=soon(0.1)))
    with pytest.raises(ProviderUnavailable):  # waited out, it would be ProviderTimeout
        next(api.stream(BODY, deadline=soon()))
    release.set()
    assert no_threads_left()


def test_cancelling_ends_a_handshake(silent: int):
    api = StreamingProvider(f"https://127.0.0.1:{silent}", "/api/chat")
    with pytest.raises(CallCancelled):  # at the deadline it would be ProviderTimeout
        next(api.stream(BODY, deadline=soon(60), cancelled=set_after(0.2)))
    assert no_threads_left()


def test_the_deadline_ends_a_handshake(silent: int):
    api = StreamingProvider(f"https://127.0.0.1:{silent}", "/api/chat")
    with pytest.raises(ProviderTimeout):
        next(api.stream(BODY, deadline=soon(0.3)))
    assert no_threads_left()


def test_cancelling_ends_a_write_that_nobody_reads(silent: int):
    api = StreamingProvider(f"http://127.0.0.1:{silent}", "/api/chat")
    body = {"messages": ["x" * 20_000_000]}  # more than the system keeps for both ends
    with pytest.raises(CallCancelled):
        next(api.stream(body, deadline=soon(60), cancelled=set_after(0.5)))


def test_streams_wait_for_a_place_and_can_be_cancelled_there(site: Site):
    api = StreamingProvider(site.url("stalls-after-headers"), "/chat/completions", max_calls=1)
    first = api.stream(BODY, deadline=soon())
    next(first)
    with pytest.raises(CallCancelled):
        next(api.stream(BODY, deadline=soon(), cancelled=set_after(0.1)))
    with pytest.raises(ProviderTimeout):
        next(api.stream(BODY, deadline=soon(0.2)))
    first.close()
    assert next(api.stream(BODY, deadline=soon()))
    assert len(site.requests) == 2


@pytest.mark.parametrize(
    ("pieces", "text"),
    [
        (["Hello ", "world"], "Hello world"),
        (["<think>no</think>yes"], "yes"),
        (["<th", "ink>a <b> </th", "ink", ">\n", "\nyes ", "no"], "yes no"),
        ([" <think>", "never ends"], ""),
        (["<th"], "<th"),
        (["<thanks>"], "<thanks>"),
        (["say <think>x</think>"], "say <think>x</think>"),
        (["fox \ud83e", "\udd8a!"], "fox 🦊!"),
        (["half \ud83e", "x"], "half \ufffdx"),
        (["half \ud83e"], "half \ufffd"),
        (["a\0b"], "ab"),
    ],
)
def test_text_is_made_fit_to_show(pieces: list[str], text: str):
    clean = CleanText()
    assert "".join([*map(clean.feed, pieces), clean.end()]) == text
