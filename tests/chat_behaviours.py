"""How the chat server of tests/chat_server.py may behave: each function is one behaviour."""

import re
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .chat_server import Behaviour, Exchange

SECRET = "the key sk-secret is bad"  # what a careless provider says; must reach nobody
BEHAVIOURS: "dict[str, Behaviour]" = {}
_IDS = re.compile(r"""cite:(\w+)|\bid=["']?(\w+)|^#+ \[(\w+)\]""", re.MULTILINE)


def behaviour(function: "Behaviour") -> "Behaviour":
    BEHAVIOURS[function.__name__] = function
    return function


def _first(exchange: "Exchange") -> str:
    """About half of the answer, for those who do not finish it."""
    text = exchange.text()
    return text[: len(text) // 2 + 1]


def ids_in(exchange: "Exchange") -> list[str]:
    """The ids of passages that the prompt seems to name, in order."""
    prompt = "\n".join(str(message.get("content", "")) for message in exchange.received.messages)
    found = [next(filter(None, groups)) for groups in _IDS.findall(prompt)]
    return [id_ for id_ in dict.fromkeys(found) if id_ != "ID"]


# -- as it should be ----------------------------------------------------------------


@behaviour
def normal(exchange: "Exchange") -> None:
    exchange.answer(exchange.text())


@behaviour
def slow(exchange: "Exchange") -> None:
    """Waits `site.pause` seconds after each piece."""
    exchange.answer(exchange.text(), pause=exchange.site.pause)


@behaviour
def no_usage(exchange: "Exchange") -> None:
    exchange.answer(exchange.text(), usage=False)


@behaviour
def too_long(exchange: "Exchange") -> None:
    """Stops at the token limit."""
    exchange.answer(_first(exchange), finish="length")


@behaviour
def heartbeats(exchange: "Exchange") -> None:
    """Comments and pings between the pieces."""
    exchange.begin(exchange.tokens(exchange.text()))
    for character in exchange.text():
        exchange.raw(exchange.dialect.comment())
        exchange.piece(character)
    exchange.end("stop", exchange.tokens(exchange.text()))


@behaviour
def crlf(exchange: "Exchange") -> None:
    """Lines end in CR LF, and the stream with the connection."""
    body, tokens = exchange.received.body, exchange.tokens(exchange.text())
    parts = [
        exchange.dialect.begin(body, tokens),
        exchange.dialect.piece(exchange.text()),
        exchange.dialect.end(body, "stop", tokens),
    ]
    exchange.open(chunked=False)
    exchange.raw(b"".join(parts).replace(b"\n", b"\r\n"))


@behaviour
def split_characters(exchange: "Exchange") -> None:
    """Every byte in a packet of its own: characters and lines come in halves."""
    body, tokens = exchange.received.body, exchange.tokens(exchange.text())
    exchange.open()
    for part in (
        exchange.dialect.begin(body, tokens),
        exchange.dialect.piece(exchange.text()),
        exchange.dialect.end(body, "stop", tokens),
    ):
        for byte in part:
            exchange.raw(bytes([byte]))
    exchange.close()


@behaviour
def not_streamed(exchange: "Exchange") -> None:
    """One whole JSON answer, whatever the client asked for."""
    exchange.json(exchange.dialect.whole(exchange.text(), "stop", exchange.tokens("")))


@behaviour
def thinks_aloud(exchange: "Exchange") -> None:
    """The text begins with <think>…</think>, as reasoning models write it."""
    exchange.answer("<think>Is it 41? No.</think>\n\n" + exchange.text())


@behaviour
def thinks_aside(exchange: "Exchange") -> None:
    """Thoughts come in a field of their own."""
    exchange.begin(exchange.tokens(exchange.text()))
    exchange.raw(exchange.dialect.thought("Is it 41? No."))
    exchange.piece(exchange.text())
    exchange.end("stop", exchange.tokens(exchange.text()))


@behaviour
def old_server(exchange: "Exchange") -> None:
    """Knows neither stream_options nor response_format nor think."""
    if {"stream_options", "response_format", "think"} & set(exchange.received.body):
        exchange.json({"error": {"message": f"unknown field; {SECRET}"}}, status=400)
    else:
        normal(exchange)


@behaviour
def new_server(exchange: "Exchange") -> None:
    """Wants max_completion_tokens instead of max_tokens."""
    if "max_tokens" in exchange.received.body:
        exchange.json({"error": {"message": f"use max_completion_tokens; {SECRET}"}}, status=400)
    else:
        normal(exchange)


# -- not to be trusted --------------------------------------------------------------


@behaviour
def unknown_ids(exchange: "Exchange") -> None:
    """Cites passages that do not exist."""
    exchange.answer(f"{exchange.text()} It is certain [cite:zz99zz]. So is this [cite:0].")


@behaviour
def invented_quotes(exchange: "Exchange") -> None:
    """Puts between quotation marks what nobody wrote, with ids that do exist."""
    id_ = (ids_in(exchange) or ["zz99zz"])[0]
    quote = "The committee resolved unanimously to repaint the moon."
    exchange.answer(f'{exchange.text()} It says "{quote}" [cite:{id_}].')


@behaviour
def changed_numbers(exchange: "Exchange") -> None:
    """Every digit of the answer is another one; markers stay."""
    parts = re.split(r"(\[cite:\w+\])", exchange.text())
    turned = str.maketrans("0123456789", "1234567890")
    exchange.answer("".join(p if p.startswith("[cite:") else p.translate(turned) for p in parts))


@behaviour
def empty(exchange: "Exchange") -> None:
    exchange.answer("")


@behaviour
def refuses(exchange: "Exchange") -> None:
    """Ends as filtered (OpenAI) or refused (Anthropic)."""
    exchange.answer("I cannot help with that.", finish="refused")


# -- too slow, too short, too long ----------------------------------------------------


@behaviour
def stalls(exchange: "Exchange") -> None:
    """Takes the request and says nothing."""
    exchange.hang()


@behaviour
def stalls_after_headers(exchange: "Exchange") -> None:
    exchange.begin()
    exchange.hang()


@behaviour
def stalls_midway(exchange: "Exchange") -> None:
    """Half of the answer, then nothing."""
    exchange.piece(_first(exchange))
    exchange.hang()


@behaviour
def stalls_once(exchange: "Exchange") -> None:
    exchange.hang() if exchange.number == 1 else normal(exchange)


@behaviour
def drips(exchange: "Exchange") -> None:
    """A header that never ends, byte by byte."""
    exchange.unframed(b"HTTP/1.1 200 OK\r\nX-Long: ")
    for _ in range(2000):
        exchange.unframed(b" ")
        exchange.wait(0.05)


@behaviour
def dies(exchange: "Exchange") -> None:
    """A TCP reset in the middle of the answer."""
    exchange.piece(_first(exchange))
    exchange.wait(0.1)  # a reset would take what is still under way with it
    exchange.reset()


@behaviour
def dies_at_once(exchange: "Exchange") -> None:
    exchange.reset()


@behaviour
def dies_once(exchange: "Exchange") -> None:
    """Before the first piece, and only the first time."""
    exchange.reset() if exchange.number == 1 else normal(exchange)


@behaviour
def cut_short(exchange: "Exchange") -> None:
    """The connection is closed in the middle of the answer."""
    exchange.piece(_first(exchange))
    exchange.cut()


@behaviour
def ends_early(exchange: "Exchange") -> None:
    """HTTP ends in good order, but the answer has no end."""
    exchange.piece(_first(exchange))
    exchange.close()


@behaviour
def floods(exchange: "Exchange") -> None:
    """Endless tokens, as fast as they are read."""
    end = time.monotonic() + 60
    while time.monotonic() < end and not exchange.site.stopping.is_set():
        exchange.piece("more and more and more and more and more. " * 20)
    exchange.close()


@behaviour
def endless_line(exchange: "Exchange") -> None:
    """One line that never ends."""
    exchange.open()
    exchange.raw(exchange.dialect.piece("x").split(b"x")[0])
    end = time.monotonic() + 60
    while time.monotonic() < end and not exchange.site.stopping.is_set():
        exchange.raw(b"x" * 65536)


# -- nonsense -----------------------------------------------------------------------


@behaviour
def html(exchange: "Exchange") -> None:
    exchange.content(b"<html>Please log in</html>", kind="text/html")


def _nonsense(name: str, line: bytes) -> None:
    def send(exchange: "Exchange") -> None:
        exchange.open()
        exchange.raw(line)
        exchange.close()

    BEHAVIOURS[name] = send


_nonsense("not_json", b"data: {not json\n\n")
_nonsense("a_list", b"data: [1, 2]\n\n[1, 2]\n")
_nonsense("nested", b"data: " + b"[" * 100_000 + b"\n\n")
_nonsense("wrong_framing", b"choices=1&text=hello\n\nwhat: ever\n\n")
_nonsense(
    "wrong_shape",
    b'data: {"choices": [{"delta": {"content": 7}}], "type": "content_block_delta", "delta": 1, '
    b'"message": {"content": 7}}\n\n{"message": {"content": 7}, "done": false}\n',
)
_nonsense("broken_utf8", b'data: {"choices": [{"delta": {"content": "\xff\xc3"}}]}\n\n')


@behaviour
def nothing(exchange: "Exchange") -> None:
    """An empty stream."""
    exchange.open()
    exchange.close()


@behaviour
def error_midway(exchange: "Exchange") -> None:
    """An error event in the middle of the answer."""
    exchange.piece(_first(exchange))
    exchange.raw(exchange.dialect.error(SECRET))
    exchange.close()


@behaviour
def error_first(exchange: "Exchange") -> None:
    """An error event instead of the first piece, with status 200."""
    exchange.begin()
    exchange.raw(exchange.dialect.error(SECRET))
    exchange.close()


# -- statuses -----------------------------------------------------------------------


def _status(name: str, status: int, **headers: str) -> "Behaviour":
    def send(exchange: "Exchange") -> None:
        exchange.json({"error": {"message": SECRET}}, status=status, **headers)

    BEHAVIOURS[name] = send
    return send


def _then_normal(name: str, failing: "Behaviour", times: int) -> None:
    def send(exchange: "Exchange") -> None:
        (failing if exchange.number <= times else normal)(exchange)

    BEHAVIOURS[name] = send


_status("bad_request", 400)
_status("wrong_key", 401)
_status("unknown_model", 404)
_status("always_busy", 429, Retry_After="3600")
_status("busy_for_five_seconds", 429, Retry_After="5")
_status("unavailable", 503)
_status("overloaded", 529)
_status("moved", 307, Location="/normal/chat/completions")
_then_normal("flaky", _status("broken", 500), 2)
_then_normal("busy", _status("busy_for_a_second", 429, Retry_After="1"), 1)
_then_normal("overloaded_once", BEHAVIOURS["overloaded"], 1)


def names(keep: Callable[[str], bool] = lambda name: True) -> list[str]:
    """Every behaviour as addresses write it."""
    return [name.replace("_", "-") for name in BEHAVIOURS if keep(name)]
