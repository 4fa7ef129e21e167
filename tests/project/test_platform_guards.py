"""The guards by themselves: pace, places, deadlines, and applications that do not play along."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest

from documents.accounts import keys
from documents.models import Namespace
from ragsite.access.auth import enter
from ragsite.access.client_address import address_of_scope
from ragsite.database.tenancy import operator
from ragsite.platform.asgi_types import Message, Receive, Scope, Send
from ragsite.web.guards.bodies import BodyGuard, MinimumRate
from ragsite.web.guards.guard import guarded
from ragsite.web.guards.routes import STRANGER_BYTES, BodyRule, Proof, body_rule
from ragsite.web.guards.send_deadline import SendDeadline
from ragsite.web.guards.slots import SlotResult, Slots
from ragsite.web.guards.stream_limit import StreamLimit
from ragsite.web.threads import RequestThreads

KEY = "Bearer rs_0123456789ab_" + "x" * 43


def scope(path: str = "/api/v1/things", **headers: str) -> Scope:
    pairs = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    return {"type": "http", "method": "POST", "path": path, "headers": pairs, "client": ("::1", 1)}


class Client:
    """What it sends, and what it gets."""

    def __init__(self, *blocks: bytes) -> None:
        self.blocks = list(blocks)
        self.got: list[Message] = []

    async def receive(self) -> Message:
        if not self.blocks:
            await asyncio.sleep(3600)
        block = self.blocks.pop(0)
        return {"type": "http.request", "body": block, "more_body": bool(self.blocks)}

    async def send(self, message: Message) -> None:
        self.got.append(message)

    @property
    def status(self) -> int:
        return int(self.got[0]["status"])

    @property
    def code(self) -> str:
        body = b"".join(message.get("body", b"") for message in self.got[1:])
        return str(json.loads(body)["error"]["code"])


async def stream(scope: Scope, receive: Receive, send: Send) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"some", "more_body": True})
    await scope["until"].wait()
    await send({"type": "http.response.body"})


# -- pace --------------------------------------------------------------------------


def test_a_body_that_keeps_up_may_take_long_and_one_that_stops_may_not():
    now = 0.0
    pace = MinimumRate(seconds=10, min_rate=100, now=lambda: now)
    for _ in range(100):  # as fast as it must be
        now += 5
        assert pace.remaining() == 5
        pace.received(500)
    pace.received(1_000_000)  # a burst earns no more than ten seconds
    assert pace.remaining() == 10
    now += 6
    pace.received(1)
    now += 5
    assert pace.remaining() == 0


# -- places ------------------------------------------------------------------------


def test_places_are_counted_by_owner_and_in_total():
    slots = Slots(per_owner=2, total=3)
    assert [slots.take("a") for _ in range(3)] == [
        SlotResult.TAKEN,
        SlotResult.TAKEN,
        SlotResult.OWNER_FULL,
    ]
    assert [slots.take("b") for _ in range(2)] == [SlotResult.TAKEN, SlotResult.ALL_FULL]
    slots.give_back("a")
    assert slots.take("b") is SlotResult.TAKEN
    for owner in "abb":
        slots.give_back(owner)
    assert slots.count() == 0
    assert not slots._open  # owners that have gone take no memory


# -- routes ------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/mcp", "/api/v2/ingest", "/new/"])
def test_a_route_that_nobody_has_thought_of_needs_a_key_and_takes_little(path: str, settings: Any):
    assert body_rule(path).proof is Proof.KEY
    assert body_rule(path).max_bytes == settings.BODIES["max_bytes"] < settings.REQUEST_MAX_BYTES


def test_routes_of_operators_judge_their_own_keys_and_take_little():
    for path in ("/api/v1/namespaces", "/api/v1/namespaces/x/keys", "/api/v1/namespace-removals"):
        assert body_rule(path) == BodyRule(STRANGER_BYTES, Proof.NONE)


# -- streams -----------------------------------------------------------------------


def test_a_key_has_so_many_streams_at_once_and_others_have_theirs():
    guard = StreamLimit(stream, slots=Slots(per_owner=2))

    async def run() -> list[int]:
        until = asyncio.Event()
        owners = [{"authorization": KEY}] * 3 + [{"authorization": KEY + "y"}, {}, {}, {}]
        clients = [Client() for _ in owners]
        tasks = [
            asyncio.create_task(guard({**scope(**owner), "until": until}, c.receive, c.send))
            for owner, c in zip(owners, clients, strict=True)
        ]
        await asyncio.sleep(0.05)
        assert guard.slots.count() == 5
        until.set()
        await asyncio.gather(*tasks)
        assert guard.slots.count() == 0
        return [client.status for client in clients]

    assert asyncio.run(asyncio.wait_for(run(), 20)) == [200, 200, 429, 200, 200, 200, 429]


@pytest.mark.parametrize(
    ("status", "length", "counts"),
    [(200, None, True), (200, 5_000_000, True), (200, 5_000, False), (404, None, False)],
)
def test_what_counts_as_a_stream(status: int, length: int | None, counts: bool):
    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        headers = [] if length is None else [(b"Content-Length", b"%d" % length)]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        assert guard.slots.count() == counts

    guard, client = StreamLimit(answer, slots=Slots(per_owner=1)), Client(b"")
    asyncio.run(guard(scope(), client.receive, client.send))
    assert client.status == status


def test_an_application_that_catches_the_refusal_cannot_answer_instead():
    async def stubborn(scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await send({"type": "http.response.start", "status": 200, "headers": []})
        except Exception:
            await send({"type": "http.response.start", "status": 500, "headers": []})

    client = Client(b"")
    asyncio.run(
        StreamLimit(stubborn, slots=Slots(per_owner=0))(scope(), client.receive, client.send)
    )
    assert (client.status, client.code) == (429, "too_many_streams")
    assert len([m for m in client.got if m["type"] == "http.response.start"]) == 1


def test_websockets_are_streams_too():
    async def talk(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "websocket.accept"})

    for places, expected in ((1, "websocket.accept"), (0, "websocket.close")):
        guard, client = StreamLimit(talk, slots=Slots(per_owner=places)), Client()
        asyncio.run(guard({**scope(), "type": "websocket"}, client.receive, client.send))
        assert [message["type"] for message in client.got] == [expected]
        assert guard.slots.count() == 0


# -- sending -----------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["http", "websocket"])
def test_a_send_that_never_ends_ends_the_stream(kind: str):
    ended = []

    async def endless(scope: Scope, receive: Receive, send: Send) -> None:
        try:
            while True:
                await send({"type": f"{kind}.send"})
        finally:
            ended.append(kind)

    async def stuck(message: Message) -> None:
        await asyncio.sleep(3600)

    guard = SendDeadline(endless, seconds=0.05)
    asyncio.run(asyncio.wait_for(guard({**scope(), "type": kind}, Client().receive, stuck), 20))
    assert ended == [kind]


def test_errors_of_the_application_are_not_taken_for_slow_clients():
    async def broken(scope: Scope, receive: Receive, send: Send) -> None:
        raise TimeoutError("its own")

    client = Client()
    with pytest.raises(TimeoutError, match="its own"):
        asyncio.run(SendDeadline(broken, seconds=5)(scope(), client.receive, client.send))


# -- bodies ------------------------------------------------------------------------


async def reads_all(scope: Scope, receive: Receive, send: Send) -> None:
    while (await receive()).get("more_body"):
        pass
    await send({"type": "http.response.start", "status": 200, "headers": []})


@pytest.fixture
def small_limits(settings: Any) -> None:
    settings.BODIES = {**settings.BODIES, "large": 1, "large_per_namespace": 1, "timeout": 0.2}


@pytest.mark.usefixtures("small_limits")
def test_a_body_that_stops_is_cut_off():
    client = Client(b"x", b"y", b"z")
    client.blocks.append(b"never sent")
    sent = scope(authorization=KEY, content_length="1000")

    async def stalls() -> Message:
        if len(client.blocks) == 1:
            await asyncio.sleep(3600)
        return await client.receive()

    guard = BodyGuard(reads_all, threads=RequestThreads())
    asyncio.run(asyncio.wait_for(guard(sent, stalls, client.send), 20))
    assert (client.status, client.code) == (408, "body_timeout")


@pytest.mark.usefixtures("db", "small_limits")
def test_a_large_body_gives_its_place_back_when_it_is_there(
    tenant: Namespace, new_namespace: Callable[..., Namespace]
):
    with operator():
        _, key = keys.issue(tenant, scopes=("write",))
    places: list[int] = []

    async def counts(scope: Scope, receive: Receive, send: Send) -> None:
        await receive()
        places.append(guard.slots.count())
        await receive()
        places.append(guard.slots.count())
        await send({"type": "http.response.start", "status": 200, "headers": []})

    guard = BodyGuard(counts, threads=RequestThreads())
    client = Client(b"x" * 100_000, b"y")
    sent = scope(authorization=f"Bearer {key}", transfer_encoding="chunked")
    asyncio.run(guard(sent, client.receive, client.send))
    assert (client.status, places) == (200, [1, 0])


@pytest.mark.usefixtures("db")
def test_a_revoked_key_is_refused_before_its_large_body(tenant: Namespace):
    with operator():
        row, key = keys.issue(tenant, scopes=("write",))
        row.revoked_at = row.created_at
        row.save()
    client = Client(b"")
    sent = scope(authorization=f"Bearer {key}", content_length="1000000")
    guard = guarded(reads_all, threads=RequestThreads())
    asyncio.run(guard(sent, client.receive, client.send))
    assert (client.status, client.code) == (401, "key_revoked")


@pytest.mark.usefixtures("db")
def test_wrong_keys_are_limited_before_their_large_bodies_too(settings: Any):
    settings.WRONG_KEYS_PER_MINUTE = 2
    guard = guarded(reads_all, threads=RequestThreads())
    codes = []
    for _ in range(4):
        client = Client(b"")
        sent = scope(authorization=KEY, content_length="1000000")
        asyncio.run(guard(sent, client.receive, client.send))
        codes.append(client.code)
    assert codes == ["invalid_key"] * 2 + ["rate_limited"] * 2
    assert b"retry-after" in dict(client.got[0]["headers"])


@pytest.mark.usefixtures("db")
def test_the_look_at_a_key_before_its_large_body_is_no_request(tenant: Namespace):
    with operator():
        _, key = keys.issue(tenant, scopes=("write",))
    client = Client(b"x" * 100_000)
    sent = scope(authorization=f"Bearer {key}", content_length="100000")
    guard = guarded(reads_all, threads=RequestThreads())
    asyncio.run(guard(sent, client.receive, client.send))
    assert client.status == 200
    entry = enter(f"Bearer {key}", rate_class="read", address="::1")
    assert entry.admission is not None
    assert entry.admission.remaining == entry.admission.limit - 1


@pytest.mark.parametrize(
    ("forwarded", "proxies", "expected"),
    [([b"203.0.113.9"], 0, "::1"), ([b"6.6.6.6", b"203.0.113.9"], 1, "203.0.113.9")],
)
def test_the_address_is_the_same_before_django_has_made_a_request(
    settings: Any, forwarded: list[bytes], proxies: int, expected: str
):
    settings.TRUSTED_PROXIES = proxies
    sent = scope() | {"headers": [(b"x-forwarded-for", value) for value in forwarded]}
    assert address_of_scope(sent) == expected


def test_a_full_disk_is_told():
    async def no_room(scope: Scope, receive: Receive, send: Send) -> None:
        raise OSError(28, "No space left on device")

    client = Client(b"x")
    sent = scope(authorization=KEY, content_length="1")
    asyncio.run(BodyGuard(no_room, threads=RequestThreads())(sent, client.receive, client.send))
    assert (client.status, client.code) == (507, "storage_full")
