"""What goes wrong under /v1, on every route there is: OpenAI's envelope, and the official client's
exceptions."""

import re
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import httpx2
import openai
import pytest

from documents.accounts import keys
from documents.models import Namespace
from ragsite.database.tenancy import operator

from ...client import Api
from ...project.answer_site import Site
from ...project.routes import METHODS, resolved
from .conftest import client_options

ENVELOPE = {"message", "type", "param", "code", "request_id"}
JSON = {"Content-Type": "application/json"}


def operations() -> dict[str, list[str]]:
    """The methods of every path under /v1."""
    return {route.path: route.methods for route in resolved() if route.path.startswith("/v1/")}


POSTS = [path for path, methods in operations().items() if "POST" in methods]
# POST without a body: it takes none, or every field has a default.
EMPTY_IS_FINE = {"/v1/vector_stores", "/v1/vector_stores/{id}"}


@pytest.fixture
def http(site: Site, api: Api) -> Iterator[httpx2.Client]:
    with httpx2.Client(
        base_url=site.url, headers={"Authorization": f"Bearer {api.key}"}, timeout=30
    ) as client:
        yield client


@pytest.fixture
def real(api: Api, work: Callable[[], int]) -> Callable[[str], str]:
    """The path with ids that there are."""
    document = api.upload(("harbour.md", "# Harbour\n\nTwelve lights.")).body["results"][0]
    work()
    file = f"file-{uuid.UUID(document['document_id']).hex}"
    store = api.post("v1/vector_stores", {"name": "ports", "file_ids": [file]}).body["id"]
    batch = api.post(f"v1/vector_stores/{store}/file_batches", {"file_ids": [file]}).body["id"]
    ids = {"vector_stores": store, "files": file, "file_batches": batch, "models": "ragsite"}
    return lambda path: re.sub(r"(\w+)/\{id\}", lambda step: f"{step[1]}/{ids[step[1]]}", path)


def refused(response: httpx2.Response, status: int) -> dict[str, Any]:
    assert response.status_code == status, (str(response.request.url), response.text)
    assert response.headers["content-type"] == "application/json"
    error: dict[str, Any] = response.json()["error"]
    assert set(error) == ENVELOPE
    assert error["request_id"] == response.headers["x-request-id"]
    return error


def test_a_method_that_a_route_does_not_take_is_405(http: httpx2.Client, real: Any):
    for path, methods in operations().items():
        for method in METHODS:
            if method not in methods:
                response = http.request(method, real(path))
                assert refused(response, 405)["code"] == "method_not_allowed"
                assert set(methods) <= set(response.headers["allow"].split(", "))
        assert http.request("OPTIONS", real(path)).status_code == 200
        head = http.request("HEAD", real(path))
        assert (head.status_code, head.content) == (200 if "GET" in methods else 405, b"")


def test_bodies_that_cannot_be_read_are_400_and_other_kinds_415(http: httpx2.Client, real: Any):
    for path in POSTS:
        address = real(path)
        if path.endswith("/cancel"):
            continue  # reads no body
        text = http.post(address, content=b"x", headers={"Content-Type": "text/plain"})
        assert refused(text, 415)["code"] == "unsupported_media_type"
        if path == "/v1/files":
            torn = {"Content-Type": "multipart/form-data; boundary=x"}
            refused(http.post(address, content=b"--x\r\nnonsense", headers=torn), 400)
        else:
            for body in (b"{bad", b'{"a": "\xff"}', b'{"a": NaN}', b"[" * 5000 + b"]" * 5000):
                malformed = http.post(address, content=body, headers=JSON)
                assert refused(malformed, 400)["code"] == "malformed_request"
            refused(http.post(address, json=[1]), 400)
        empty = http.post(address, content=b"", headers=JSON)
        if path in EMPTY_IS_FINE:
            assert empty.status_code == 200
        else:
            assert refused(empty, 400)["param"]


def test_large_bodies_are_413_and_without_a_key_401(http: httpx2.Client, real: Any, site: Site):
    for path in POSTS:
        if path != "/v1/files":  # takes large ones: test_files.py
            large = http.post(real(path), content=b" " * 3_000_000, headers=JSON)
            assert refused(large, 413)["code"] == "too_large"
        error = refused(httpx2.post(site.url + path, json={}), 401)
        assert (error["type"], error["code"]) == ("authentication_error", "not_authenticated")


def test_unknown_options_in_the_address_are_named(http: httpx2.Client, real: Any):
    for path, methods in operations().items():
        for method in methods:
            response = http.request(method, f"{real(path)}?colour=red")
            assert refused(response, 400)["param"] == "colour"


def test_an_address_that_is_none_has_the_same_envelope(http: httpx2.Client):
    for path in ("/v1", "/v1/", "/v1/threads", "/v1/files/x/y/z"):
        error = refused(http.get(path), 404)
        assert (error["type"], error["code"]) == ("not_found_error", "not_found")
        assert "/v1/chat/completions" in error["message"]


def test_a_slash_too_many_does_not_matter(http: httpx2.Client):
    for path in ("/v1/models/", "/v1//models", "/v1//models//"):
        assert http.get(path).json() == http.get("/v1/models").json()
    body = {"model": "ragsite-embedding", "input": "harbour"}
    assert http.post("/v1/embeddings/", json=body).status_code == 200
    upload = {
        "file": ("a.md", b"# A\n\n" + b"Twelve lights. " * 200_000),
        "purpose": (None, "assistants"),
    }
    assert http.post("/v1/files/", files=upload).status_code == 200  # large, as without the slash


def test_an_address_without_its_beginning_says_what_is_missing(http: httpx2.Client):
    for path in ("/chat/completions", "/embeddings", "/vector_stores/vs_1/search"):
        message = http.post(path, json={}).json()["error"]["message"]
        assert message.endswith("The address of the OpenAI-compatible API ends in /v1.")
    legacy = refused(http.post("/v1/completions", json={}), 404)
    assert "Models answer at /v1/chat/completions only." in legacy["message"]


def test_bodies_in_chunks_are_read(http: httpx2.Client):
    """As Node sends a file that it streams: without a length."""
    key = {"Content-Type": "application/json"}
    parts = iter([b'{"model": "ragsite-embedding", ', b'"input": "harbour"}'])
    assert http.post("/v1/embeddings", content=parts, headers=key).status_code == 200
    form = (
        b'--x\r\nContent-Disposition: form-data; name="file"; filename="a.md"\r\n\r\n# A\n\nB.\r\n'
        b'--x\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nassistants\r\n--x--\r\n'
    )
    kind = {"Content-Type": "multipart/form-data; boundary=x"}
    for path in ("/v1/files", "/api/v1/ingest"):
        sent = form if path == "/v1/files" else form.replace(b"purpose", b"tags")
        taken = http.post(path, content=iter([sent[:90], sent[90:]]), headers=kind)
        assert taken.status_code in (200, 202), taken.text
    called = http.post(
        "/mcp",
        content=iter([b'{"jsonrpc": "2.0", "id": 1, ', b'"method": "ping"}']),
        headers={**key, "Accept": "application/json"},
    )
    assert called.status_code == 200


def test_whatever_a_client_accepts_it_gets_what_there_is(http: httpx2.Client, real: Any):
    for path, methods in operations().items():
        if "GET" in methods:
            for accepted in ("application/binary", "text/event-stream", "text/html"):
                assert http.get(real(path), headers={"Accept": accepted}).status_code == 200


def test_requests_over_the_limit_are_the_clients_rate_limit_error(
    site: Site, tenant: Namespace, real: Any
):
    limits = {"read": 1, "write": 1, "search": 1, "answer": 1, "ingest": 1}
    with operator():
        key = keys.issue(tenant, scopes=("read", "write"), limits=limits)[1]
    ask: list[Any] = [{"role": "user", "content": "How many lights?"}]
    store = real("vector_stores/{id}").partition("/")[2]
    with openai.OpenAI(**client_options(site, key)) as client:
        for call in (
            client.models.list,
            lambda: client.vector_stores.create(name="x"),
            lambda: client.vector_stores.search(store, query="lights"),
            lambda: client.chat.completions.create(model="ragsite", messages=ask),
            lambda: client.files.create(file=("a.md", b"# A\n\nB."), purpose="assistants"),
        ):
            call()
            with pytest.raises(openai.RateLimitError) as caught:
                call()
            assert (caught.value.code, caught.value.type) == ("rate_limited", "rate_limit_error")
            assert int(caught.value.response.headers["retry-after"]) >= 1


def test_the_clients_exceptions_are_the_right_ones(site: Site, api: Api, api_of: Any, tenant: Any):
    reader = api_of(tenant, ("read",))
    upload: Any = {"file": ("a.md", b"# A\n\nB."), "purpose": "assistants"}
    for key, call, kind, code in (
        ("nonsense", lambda c: c.models.list(), openai.AuthenticationError, "invalid_key"),
        (reader.key, lambda c: c.files.create(**upload), openai.PermissionDeniedError, None),
        (api.key, lambda c: c.files.retrieve("file-x"), openai.NotFoundError, "not_found"),
        (api.key, lambda c: c.files.list(limit=0), openai.BadRequestError, "invalid_value"),
        (api.key, lambda c: c.moderations.create(input="x"), openai.NotFoundError, "not_found"),
    ):
        with openai.OpenAI(**client_options(site, key)) as client:
            with pytest.raises(kind) as caught:
                call(client)
            assert caught.value.code == (code or "insufficient_scope")
            assert caught.value.request_id == caught.value.body["request_id"]
            raw = client.with_raw_response
            if kind is not openai.AuthenticationError:
                assert raw.models.list().request_id
