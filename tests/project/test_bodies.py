"""A body is read only from who may send it, only as large as the route takes, and not for ever."""

import json
import re
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import httpx2
import pytest

from .conftest import WebService
from .raw_http import RawAnswer, RawClient
from .service import until

WRONG_KEY = "rs_0123456789ab_" + "x" * 43
MEGABYTE = 1024 * 1024
HUNDRED = str(100 * MEGABYTE)
JSON = {"Content_Type": "application/json"}


def answer_to_headers(web: WebService, method: str, path: str, **headers: str) -> RawAnswer:
    """Without a byte of the body having been sent."""
    with RawClient(web.service.port) as client:
        client.send_headers(method, path, **headers)
        return client.answer()


def assert_envelope(answer: RawAnswer, status: int, code: str) -> None:
    assert (answer.status, answer.error["code"]) == (status, code), answer.body
    assert set(answer.error) == {"code", "message", "details", "request_id"}
    assert answer.error["request_id"] == answer.headers["x-request-id"] != ""
    assert answer.headers["connection"] == "close"


@pytest.mark.parametrize("path", ["/api/v1/query", "/api/v1/feedback", "/v2/answers", "/mcp"])
def test_only_ingest_takes_large_bodies(web: WebService, path: str):
    answer = answer_to_headers(web, "POST", path, key=web.key, Content_Length=HUNDRED, **JSON)
    assert_envelope(answer, 413, "too_large")


@pytest.mark.parametrize("path", ["/api/v1/ingest", "/api/v1/query", "/v2/answers", "/mcp", "//x"])
def test_without_a_key_no_body_is_read(web: WebService, path: str):
    trace = {"X_Request_ID": "trace-1"}
    answer = answer_to_headers(web, "POST", path, Content_Length="1000", **trace, **JSON)
    assert_envelope(answer, 401, "not_authenticated")
    assert answer.error["request_id"] == "trace-1"
    assert answer.headers["www-authenticate"].startswith("Bearer")
    chunked = answer_to_headers(web, "POST", path, Transfer_Encoding="chunked", **JSON)
    assert_envelope(chunked, 401, "not_authenticated")


def test_the_addresses_of_openai_answer_in_its_envelope(web: WebService):
    answer = answer_to_headers(web, "POST", "/v1/responses", Content_Length="1000", **JSON)
    assert (answer.status, answer.error["code"]) == (401, "not_authenticated")
    assert set(answer.error) == {"message", "type", "param", "code", "request_id"}
    large = answer_to_headers(
        web, "POST", "/v1/responses", key=web.key, Content_Length=HUNDRED, **JSON
    )
    assert (large.status, large.error["code"]) == (413, "too_large")
    assert set(large.error) == {"message", "type", "param", "code", "request_id"}


@pytest.mark.parametrize("header", ["Bearer nonsense", "Basic YTpi", "Bearer", "rs_0123456789ab_x"])
def test_with_a_malformed_key_no_body_is_read(web: WebService, header: str):
    answer = answer_to_headers(
        web, "POST", "/api/v1/ingest", Authorization=header, Content_Length="1000", **JSON
    )
    assert_envelope(answer, 401, "invalid_key")


def test_a_wrong_key_is_looked_up_before_a_large_body_is_read(web: WebService):
    path = "/api/v1/ingest"
    answer = answer_to_headers(web, "POST", path, key=WRONG_KEY, Content_Length=HUNDRED, **JSON)
    assert_envelope(answer, 401, "invalid_key")


def test_a_wrong_key_is_looked_up_before_much_of_an_undeclared_body_is_read(web: WebService):
    with RawClient(web.service.port) as client:
        headers = {"Transfer_Encoding": "chunked", **JSON}
        client.send_headers("POST", "/api/v1/ingest", key=WRONG_KEY, **headers)
        block = b"x" * 32768
        for _ in range(4):
            client.send(b"%x\r\n%b\r\n" % (len(block), block))
        assert_envelope(client.answer(), 401, "invalid_key")


def test_an_undeclared_body_is_cut_off_at_the_route_limit(web: WebService):
    with RawClient(web.service.port) as client:
        headers = {"Transfer_Encoding": "chunked", **JSON}
        client.send_headers("POST", "/api/v1/query", key=web.key, **headers)
        block = b"x" * MEGABYTE
        for _ in range(3):
            client.send(b"%x\r\n%b\r\n" % (len(block), block))
        assert_envelope(client.answer(), 413, "too_large")


def test_a_refused_client_that_goes_on_sending_still_reads_the_answer(web: WebService):
    """httpx sends all of its body before it reads: the answer must survive that."""
    with web.client() as client:
        answer = client.post("query", content=b"x" * (8 * MEGABYTE))
    assert answer.status_code == 413
    assert answer.json()["error"]["code"] == "too_large"


@pytest.mark.parametrize(("key", "status"), [("", b"401"), ("valid", b"100")])
def test_a_client_that_asks_first_hears_it_before_it_sends(
    web: WebService, key: str, status: bytes
):
    body = json.dumps({"query": "anything"}).encode()
    length = {"Content_Length": str(len(body)), "Expect": "100-continue", **JSON}
    with RawClient(web.service.port) as client:
        client.send_headers("POST", "/api/v1/query", key=web.key if key else "", **length)
        first = client.read_until(b"\r\n\r\n")
        assert first.split()[1] == status
        if key:
            client.send(body)
            assert client.answer().status == 200


@pytest.mark.parametrize("path", ["/api/v1/query", "/api/v1/ingest"])
def test_a_dripped_body_is_cut_off(web: WebService, path: str):
    with RawClient(web.service.port) as client:
        client.send_headers("POST", path, key=web.key, Content_Length="60000", **JSON)
        answer = _drip(client)
        assert_envelope(answer, 408, "body_timeout")


def test_a_dripped_login_form_is_cut_off(web: WebService):
    with RawClient(web.service.port) as client:
        client.send_headers("POST", "/admin/login/", Content_Length="60000")
        assert_envelope(_drip(client), 408, "body_timeout")


def _drip(client: RawClient) -> RawAnswer:
    """A byte now and then, until there is an answer."""
    client.socket.settimeout(0.3)
    for _ in range(200):
        client.send(b"x")
        try:
            first = client.socket.recv(1, 2)  # MSG_PEEK
        except TimeoutError:
            continue
        assert first, "closed without an answer"
        client.socket.settimeout(30)
        return client.answer()
    raise AssertionError("never cut off")


@contextmanager
def unfinished_upload(web: WebService, key: str) -> Iterator[RawClient]:
    with RawClient(web.service.port) as client:
        length = str(2 * MEGABYTE)
        client.send_headers("POST", "/api/v1/ingest", key=key, Content_Length=length, **JSON)
        yield client


def test_only_so_many_large_bodies_are_received_at_once(web: WebService):
    def state(client: RawClient) -> RawAnswer | None:
        client.socket.settimeout(0.5)
        try:
            return client.answer()
        except TimeoutError:
            return None  # it is being received

    with ExitStack() as stack:
        for _ in range(2):
            assert state(stack.enter_context(unfinished_upload(web, web.key))) is None
        mine = state(stack.enter_context(unfinished_upload(web, web.key)))
        assert mine is not None
        assert_envelope(mine, 429, "too_many_uploads")
        assert int(mine.headers["retry-after"]) > 0
        assert state(stack.enter_context(unfinished_upload(web, web.other_key))) is None
        theirs = state(stack.enter_context(unfinished_upload(web, web.other_key)))
        assert theirs is not None
        assert_envelope(theirs, 503, "busy")
        assert int(theirs.headers["retry-after"]) > 0
        with web.client() as client:  # small ones are no part of it
            assert client.post("query", json={"query": "anything"}).status_code == 200
    until(lambda: _upload(web).status_code == 202, seconds=20)  # the places are free again


def _upload(web: WebService) -> httpx2.Response:
    name = f"{time.monotonic()}.md"
    with web.client() as client:
        return client.post("ingest", files={"file": (name, f"# {name}\n" + "word " * 100_000)})


def test_forms_of_strangers_are_small(web: WebService):
    for path in ("/admin/login/", "/", "/readyz", "/static/x", "/api/docs"):
        answer = answer_to_headers(web, "POST", path, Content_Length="70000")
        assert_envelope(answer, 413, "too_large")
    for cookie in ("", "sessionid=" + "a" * 32, "sessionid", "a=b; sessionid=;;"):
        answer = answer_to_headers(
            web, "POST", "/admin/documents/", Content_Length="70000", Cookie=cookie
        )
        assert_envelope(answer, 413, "too_large")


def test_an_operator_may_send_larger_forms(web: WebService):
    made = web.service.command("shell", "-c", MAKE_OPERATOR)
    assert made.returncode == 0, made.stderr
    with httpx2.Client(base_url=web.service.url, timeout=60) as client:
        page = client.get("/admin/login/").text
        form = {"username": "boss", "password": "long enough", "next": "/admin/"}
        answer = client.post("/admin/login/", data={**form, **_token(page)})
        assert answer.status_code == 302, answer.text
        page = client.get("/admin/auth/group/add/").text
        form = {"name": "x" * 200_000}
        answer = client.post("/admin/auth/group/add/", data={**form, **_token(page)})
        assert answer.status_code == 200
        assert "at most 150 characters" in answer.text
        length = str(3 * MEGABYTE)
        cookie = "; ".join(f"{name}={value}" for name, value in client.cookies.items())
    too_large = answer_to_headers(
        web, "POST", "/admin/auth/group/add/", Content_Length=length, Cookie=cookie
    )
    assert_envelope(too_large, 413, "too_large")


MAKE_OPERATOR = """
from django.contrib.auth.models import User
from ragsite.database.tenancy import operator
with operator():
    User.objects.create_superuser("boss", password="long enough")
"""


def _token(page: str) -> dict[str, Any]:
    found = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', page)
    assert found
    return {"csrfmiddlewaretoken": found[1]}


# -- before there is a request -----------------------------------------------------


@pytest.mark.parametrize("sent", [b"", b"GET / HTTP/1.1\r\nHost: local", b"\r\n"])
def test_headers_must_be_complete_in_time(web: WebService, sent: bytes):
    with RawClient(web.service.port) as client:
        client.send(sent)
        assert client.answer().status == 408
        assert client.socket.recv(1) == b""


def test_headers_of_the_next_request_must_be_complete_in_time(web: WebService):
    with RawClient(web.service.port) as client:
        client.send_headers("GET", "/livez")
        assert client.answer().status == 200
        client.send(b"GET / HT")
        assert client.answer().status == 408


def test_headers_are_not_endless(web: WebService):
    with RawClient(web.service.port) as client:
        client.send(b"GET / HTTP/1.1\r\nHost: localhost\r\n")
        try:
            for number in range(500):
                client.send(b"X-%d: %b\r\n" % (number, b"x" * 1000))
                time.sleep(0.001)
        except ConnectionError:
            pass  # it hung up on us, as it may
        else:
            assert client.status() == 431


def test_a_connection_is_kept_for_the_next_request(web: WebService):
    with RawClient(web.service.port) as client:
        for _ in range(3):
            client.send_headers("GET", "/livez")
            assert client.answer().status == 200
