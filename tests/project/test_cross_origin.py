"""Which pages of other sites may call the API from a browser: those of CORS_ORIGINS."""

from collections.abc import Iterator
from typing import Any

import httpx2
import pytest

from ragsite.checks import pages_are_origins

from ..client import Api
from .answer_site import serving

PAGE = "https://chat.example.com"
PATHS = ("/v1/models", "/api/v1/documents", "/mcp")
PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}


@pytest.fixture
def origins(settings: Any) -> list[str]:
    settings.CORS_ORIGINS = [PAGE]
    return settings.CORS_ORIGINS  # type: ignore[no-any-return]


@pytest.fixture
def http(origins: list[str]) -> Iterator[httpx2.Client]:
    with serving() as site, httpx2.Client(base_url=site.url, timeout=30) as client:
        yield client


def preflight(http: httpx2.Client, path: str, *, origin: str = PAGE) -> httpx2.Response:
    asked = {
        "Origin": origin,
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "authorization,content-type,x-stainless-lang",
    }
    return http.options(path, headers=asked)


def opened(response: httpx2.Response) -> str | None:
    assert "access-control-allow-credentials" not in response.headers
    return response.headers.get("access-control-allow-origin")


@pytest.mark.parametrize("path", PATHS)
def test_a_browser_asks_first_and_needs_no_key_for_that(http: httpx2.Client, path: str):
    answer = preflight(http, path)
    assert (answer.status_code, opened(answer)) == (200, PAGE)
    assert "authorization" in answer.headers["access-control-allow-headers"]
    assert "x-stainless-lang" in answer.headers["access-control-allow-headers"]
    refused = preflight(http, path, origin="https://evil.example")
    assert (refused.status_code, opened(refused)) == (400, None)


def test_answers_and_refusals_can_be_read_by_these_pages_only(http: httpx2.Client, api: Api):
    key = {"Authorization": f"Bearer {api.key}"}
    for headers, status in ((key, 200), ({}, 401)):
        for origin, shown in ((PAGE, PAGE), ("https://evil.example", None)):
            answer = http.get("/v1/models", headers={**headers, "Origin": origin})
            assert (answer.status_code, opened(answer)) == (status, shown)
            assert "Origin" in answer.headers["vary"]
    shown = http.get("/v1/models", headers={**key, "Origin": PAGE}).headers
    assert "X-Request-ID" in shown["access-control-expose-headers"]
    body = {"model": "ragsite", "messages": [{"role": "user", "content": "Hi?"}], "stream": True}
    streamed = http.post("/v1/chat/completions", json=body, headers={**key, "Origin": PAGE})
    assert (streamed.text.rstrip()[-6:], opened(streamed)) == ("[DONE]", PAGE)


def test_mcp_answers_these_pages(http: httpx2.Client, api: Api):
    headers = {"Authorization": f"Bearer {api.key}", "Accept": "application/json"}
    for origin, status in ((PAGE, 200), ("https://evil.example", 403)):
        answer = http.post("/mcp", json=PING, headers={**headers, "Origin": origin})
        assert answer.status_code == status


def test_pages_with_cookies_are_never_opened(http: httpx2.Client):
    for path in ("/", "/sign-in", "/admin/login/", "/library"):
        assert opened(http.get(path, headers={"Origin": PAGE})) is None
        assert opened(preflight(http, path)) is None


@pytest.mark.parametrize(("origins", "shown"), [(["*"], "*"), ([], None)])
def test_all_pages_or_none(settings: Any, api: Api, origins: list[str], shown: str | None):
    settings.CORS_ORIGINS = origins
    with serving() as site, httpx2.Client(base_url=site.url, timeout=30) as http:
        key = {"Authorization": f"Bearer {api.key}", "Origin": PAGE}
        assert opened(http.get("/v1/models", headers=key)) == shown
        asked = preflight(http, "/v1/models")
        assert (asked.status_code, opened(asked)) == (200 if shown else 401, shown)


@pytest.mark.parametrize(
    "wrong", ["app.example.com", f"{PAGE}/", f"{PAGE}/app", "null", "https://*"]
)
def test_what_is_not_an_origin_is_reported(settings: Any, wrong: str):
    settings.CORS_ORIGINS = [PAGE, "http://localhost:3000", "app://obsidian.md", "*"]
    assert pages_are_origins(None) == []
    settings.CORS_ORIGINS = [PAGE, wrong]
    assert [one.id for one in pages_are_origins(None)] == ["ragsite.E015"]
    assert repr(wrong) in pages_are_origins(None)[0].msg
