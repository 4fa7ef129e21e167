"""POST /ingest {"url"}: a page of a real server, taken in like any other document."""

from collections.abc import Callable

import pytest
from django.conf import LazySettings

from documents.api.ingest import requests
from documents.intake.fetching import Fetcher

from ..client import Api
from .test_fetching import ANY_PORT, LOOPBACK_TOO, site  # noqa: F401  (a fixture)


@pytest.fixture
def may_fetch_here(monkeypatch: pytest.MonkeyPatch) -> None:
    fetcher = Fetcher(max_bytes=100_000, seconds=5, ports=ANY_PORT, policy=LOOPBACK_TOO)
    monkeypatch.setattr(requests, "fetcher", lambda: fetcher)


@pytest.mark.usefixtures("may_fetch_here")
def test_a_page_is_fetched_indexed_and_known_by_its_address(
    site: str,  # noqa: F811
    api: Api,
    work: Callable[[], int],
):
    answer = api.post("ingest", {"url": f"{site}/page", "tags": ["web"]})
    assert answer.status == 202, answer.body
    work()
    document = api.get(f"documents/{answer.body['results'][0]['document_id']}").body
    assert (document["status"], document["source_type"]) == ("ready", "html")
    assert (document["source_uri"], document["tags"]) == (f"{site}/page", ["web"])
    assert api.query("fog", mode="lexical").body["results"][0]["source_uri"] == f"{site}/page"
    again = api.post("ingest", {"url": f"{site}/page"})
    assert again.body["results"][0]["duplicate"] is True


@pytest.mark.usefixtures("may_fetch_here")
@pytest.mark.parametrize(
    ("path", "status", "code"),
    [
        ("inside", 422, "url_refused"),
        ("missing", 422, "url_failed"),
        ("huge", 413, "too_large"),
    ],
)
def test_what_cannot_be_fetched_is_said_and_leaves_nothing(
    site: str,  # noqa: F811
    api: Api,
    path: str,
    status: int,
    code: str,
):
    answer = api.post("ingest", {"url": f"{site}/{path}"})
    assert (answer.status, answer.code) == (status, code)
    assert api.get("documents").body["results"] == []


def test_this_machine_is_out_of_reach_without_the_tests_own_door(
    site: str,  # noqa: F811
    api: Api,
    settings: LazySettings,
):
    answer = api.post("ingest", {"url": f"{site}/page"})
    assert (answer.status, answer.code) == (422, "url_refused")
    assert "ports are fetched from: 80, 443" in str(answer.body)
    settings.FETCHING = {**settings.FETCHING, "ports": ANY_PORT}
    answer = api.post("ingest", {"url": f"{site}/page"})
    assert (answer.status, answer.code) == (422, "url_refused")
    assert "not a public address" in str(answer.body)


@pytest.mark.parametrize(
    "body", [{"url": ""}, {"url": 5, "x": 1}, {"url": "http://x", "documents": []}]
)
def test_a_request_that_makes_no_sense_is_refused(api: Api, body: dict[str, object]):
    assert api.post("ingest", body).status == 422
