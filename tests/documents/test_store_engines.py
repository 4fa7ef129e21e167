"""What the engines make of answers that are none: a proxy's page, a login form, half of a response.

The servers themselves are in tests/contracts/test_stores.py.
"""

import threading
import uuid
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx2
import numpy as np
import pytest

from documents.stores.base import (
    SearchStore,
    StoreCollection,
    StoredPoint,
    StoreFailed,
    StoreQuestion,
    cause_of,
)

from .. import store_servers

ANSWERS = {
    "a proxy's 404": (404, "text/html", "<h1>no such route</h1>"),
    "a login page": (200, "text/html", "<h1>Sign in</h1>"),
    "nothing": (200, "application/json", "{}"),
    "half of it": (200, "application/json", '{"result": ['),
    "a bad gateway": (502, "text/html", "<h1>Bad gateway</h1>"),
    "too many": (429, "application/json", '{"status": {"error": "slow down"}}'),
}
COLLECTION = StoreCollection("ragsite_x", 4)
TENANT = uuid.uuid4()
POINT = StoredPoint(uuid.uuid4(), np.ones(4, dtype=np.float32), {1: 1.0}, {"document": "d"})


class Stranger(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    kind = ""

    def answer(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        status, media_type, body = ANSWERS[self.kind]
        self.send_response(status)
        self.send_header("Content-Type", media_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = answer

    def log_message(self, *args: object) -> None: ...


@pytest.fixture
def stranger() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Stranger)
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.fixture(params=["qdrant", "chroma"])
def engine(request: pytest.FixtureRequest) -> Callable[..., SearchStore]:
    if request.param == "qdrant":
        if reason := store_servers.missing_qdrant_client():
            pytest.skip(f"No Qdrant: {reason}.")
        from documents.stores.qdrant import QdrantStore

        return QdrantStore
    if reason := store_servers.missing_chroma():
        pytest.skip(f"No Chroma: {reason}.")
    from documents.stores.chroma import ChromaStore

    return ChromaStore


@pytest.mark.parametrize("kind", ANSWERS)
def test_what_is_no_answer_of_the_engine_is_an_outage(
    kind: str, stranger: str, engine: Callable[..., SearchStore], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(Stranger, "kind", kind)
    store = engine(url=stranger)
    question = StoreQuestion([1.0] * 4, {1: 1.0}, 3)
    calls: tuple[Callable[[], object], ...] = (
        lambda: store.mark(COLLECTION),
        lambda: store.set_mark(COLLECTION, "m:1"),
        lambda: store.prepare(COLLECTION),
        lambda: store.upsert(COLLECTION, TENANT, [POINT]),
        lambda: store.delete(COLLECTION, TENANT, None),
        lambda: store.count(COLLECTION, TENANT),
        lambda: list(store.held(COLLECTION, TENANT)),
        lambda: store.drop(COLLECTION),
    )
    for call in calls:
        with pytest.raises(StoreFailed):
            call()
    # A collection that is not there has no mark, so its answer is not believed.
    try:
        found = store.search(COLLECTION, TENANT, question, seconds=5)
    except StoreFailed:
        return
    assert (*found.dense, *found.words, found.mark) == ("",)


def test_an_outage_is_named_by_its_cause(engine: Callable[..., SearchStore]):
    (port,) = store_servers.free_ports(1)
    health = engine(url=f"http://127.0.0.1:{port}").health()
    assert not health.is_up
    assert str(port) not in health.problem


def test_causes_are_told_apart():
    (port,) = store_servers.free_ports(1)
    with pytest.raises(httpx2.ConnectError) as refused:
        httpx2.get(f"http://127.0.0.1:{port}")
    assert cause_of(refused.value) == "nothing listens at its address"
    assert cause_of(httpx2.ReadTimeout("")) == "not in time"
    assert cause_of(ValueError()) == "the connection failed or broke off"


def test_versions_far_apart_are_named():
    if reason := store_servers.missing_qdrant_client():
        pytest.skip(f"No Qdrant: {reason}.")
    from documents.stores.qdrant import skew

    assert skew("1.16.3", "1.17.1") == ""
    assert skew("1.17.0", "1.17.1") == ""
    assert "1.12.0 and qdrant-client 1.17.1" in skew("1.12.0", "1.17.1")
    assert "2.17.0" in skew("2.17.0", "1.17.1")
    assert skew("", "1.17.1") == ""
