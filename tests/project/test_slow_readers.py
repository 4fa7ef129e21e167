"""Clients that open streams and do not read them keep nobody else from the service."""

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest

from .conftest import LIMITS, WebService
from .raw_http import RawClient
from .service import until

READERS = 24
MORE_THAN_BUFFERS_HOLD = 24 * 1024 * 1024


@pytest.fixture(scope="module")
def document(web: WebService) -> dict[str, str]:
    """A large original. There is no worker: its job stays open for as long as we like."""
    content = b"%PDF-1.4\n" + b"\0" * MORE_THAN_BUFFERS_HOLD
    with web.client() as client:
        answer = client.post("ingest", files={"file": ("large.pdf", content)})
    assert answer.status_code == 202, answer.text
    found: dict[str, str] = answer.json()["results"][0]
    return found


@contextmanager
def readers(web: WebService, path: str, *, count: int = READERS) -> Iterator[list[RawClient]]:
    """They read the status, so that all are really being served, and then nothing more."""
    with ExitStack() as stack:
        opened = []
        for _ in range(count):
            reader = stack.enter_context(RawClient(web.service.port, receive_buffer=4096))
            reader.send_headers("GET", f"/api/v1/{path}", key=web.key)
            assert reader.status() == 200
            opened.append(reader)
        yield opened


def assert_others_are_served(web: WebService, document: dict[str, str]) -> None:
    for _ in range(3):
        assert web.get("documents").status_code == 200
        assert web.get("documents", key=web.other_key).status_code == 200
        assert web.get(f"documents/{document['document_id']}").status_code == 200
    with web.client(web.other_key) as client:
        asked = client.post("query", json={"query": "anything"})
    assert asked.status_code == 200, asked.text


def test_readers_of_files_that_never_read_hold_nobody_up_and_are_cut_off(
    web: WebService, document: dict[str, str]
):
    path = f"documents/{document['document_id']}/original"
    with readers(web, path) as opened:
        assert_others_are_served(web, document)
        for reader in opened:
            reader.wait_until_closed(seconds=60)
    with web.client() as client:  # their places are free again
        whole = client.get(path)
    assert len(whole.content) == MORE_THAN_BUFFERS_HOLD + 9
    assert "Exception in ASGI" not in web.service.log


def test_followers_of_jobs_hold_no_connection_between_two_looks(
    web: WebService, document: dict[str, str]
):
    with readers(web, f"jobs/{document['job_id']}/events") as opened:
        assert_others_are_served(web, document)
        for reader in opened:  # each is still being looked after: its job is shown to it
            shown = reader.read_until(b"data: {") + reader.read_until(b"\n")
            assert document["job_id"].encode() in shown


def test_requests_that_wait_for_a_job_hold_no_connection_meanwhile(
    web: WebService, document: dict[str, str]
):
    with ExitStack() as stack:
        waiting = []
        for number in range(12):
            client = stack.enter_context(RawClient(web.service.port))
            item = {"content": f"Text {number}.", "source_uri": f"wait:{number}"}
            body = json.dumps({"documents": [item], "wait": 60}).encode()
            length = {"Content_Type": "application/json", "Content_Length": str(len(body))}
            client.send_headers("POST", "/api/v1/ingest", key=web.key, **length)
            client.send(body)
            waiting.append(client)
        until(lambda: _documents(web, "wait:") == 12, seconds=30)
        assert_others_are_served(web, document)
        assert {client.answer().status for client in waiting} == {202}


def _documents(web: WebService, prefix: str) -> int:
    found = web.get("documents?limit=100").json()
    return sum((d["source_uri"] or "").startswith(prefix) for d in found["results"])


def test_a_key_has_only_so_many_streams(web: WebService, document: dict[str, str]):
    events = f"jobs/{document['job_id']}/events"
    limit = int(LIMITS["STREAMS_PER_KEY"])
    with readers(web, events, count=limit):
        refused = web.get(events)
        assert refused.status_code == 429
        assert refused.json()["error"]["code"] == "too_many_streams"
        assert refused.json()["error"]["request_id"] == refused.headers["x-request-id"]
        assert int(refused.headers["retry-after"]) > 0
        with web.client() as client:
            item = {"content": "Not stored.", "source_uri": "never:1"}
            waiting = client.post("ingest", json={"documents": [item], "wait": 5})
            assert (waiting.status_code, waiting.json()["error"]["code"]) == (
                429,
                "too_many_streams",
            )
            assert waiting.headers["retry-after"]
            at_once = client.post(
                "ingest", json={"documents": [{**item, "source_uri": "stored:1"}]}
            )
        assert at_once.status_code == 202  # what is no stream is not affected
        assert (_documents(web, "never:"), _documents(web, "stored:")) == (0, 1)
        with web.client(web.other_key) as client:
            assert client.get(f"jobs/{document['job_id']}/events").status_code == 404
    until(lambda: _opens(web, events), seconds=30)


def _opens(web: WebService, path: str) -> bool:
    with web.client() as client, client.stream("GET", path) as answer:
        return answer.status_code == 200
