"""Keys beyond their limit: the second refusal comes from memory, and is the same as the first."""

from collections.abc import Iterator
from typing import Any

import httpx2
import pytest

from documents.accounts import keys
from documents.models import ApiKey, Namespace
from ragsite.access.rate_limits import Admission
from ragsite.access.refused_calls import (
    MAX_CALLS,
    MAX_SECONDS,
    RefusedCalls,
    call_of,
    refused_calls,
)
from ragsite.database.tenancy import operator

from .answer_site import Site, serving

CHANGING = {"date", "x-request-id", "retry-after", "ratelimit-reset", "content-length"}
ROUTES = {
    "/api/v1/query": {"query": "lights"},
    "/api/rag/search": {"query": "lights"},
    "/v1/embeddings": {"input": "lights", "model": "ragsite-embedding"},
}


@pytest.fixture
def site(db: None) -> Iterator[Site]:
    forget()
    with serving() as made:
        yield made
    forget()


@pytest.fixture
def key(tenant: Namespace) -> str:
    with operator():
        return keys.issue(tenant, scopes=("read",), limits={"search": 1, "read": 1})[1]


def forget() -> None:
    refused_calls._calls.clear()


def post(site: Site, key: str, path: str) -> httpx2.Response:
    headers = {"Authorization": f"Bearer {key}", "Host": "localhost", "X-Request-ID": "abc"}
    return httpx2.post(f"{site.url}{path}", json=ROUTES[path], headers=headers, timeout=30)


def unchanging(response: httpx2.Response) -> dict[str, str]:
    return {name: value for name, value in response.headers.items() if name not in CHANGING}


def without_seconds(response: httpx2.Response) -> str:
    return response.text.replace(f"again in {response.headers['retry-after']} s", "again")


@pytest.mark.parametrize("path", ROUTES)
def test_a_refusal_from_memory_is_like_the_one_by_the_count(site: Site, key: str, path: str):
    first, counted = post(site, key, path), post(site, key, path)
    assert (first.is_success, counted.status_code) == (True, 429), first.text
    with operator():  # the count would admit it now
        ApiKey.objects.filter(prefix=key[3:15]).update(limits={"search": 100})
    remembered = post(site, key, path)
    assert remembered.status_code == 429
    assert unchanging(remembered) == unchanging(counted)
    assert without_seconds(remembered) == without_seconds(counted)
    assert remembered.headers["x-request-id"] == "abc"
    assert remembered.headers["retry-after"] == remembered.headers["ratelimit-reset"]
    forget()
    assert post(site, key, path).status_code == 200


def test_only_the_refused_call_of_the_refused_key_is_remembered(
    site: Site, key: str, tenant: Namespace
):
    with operator():
        other = keys.issue(tenant, scopes=("read",))[1]
    assert [post(site, key, "/api/v1/query").status_code for _ in range(3)] == [200, 429, 429]
    assert post(site, other, "/api/v1/query").status_code == 200
    with site.client(key) as client:  # of another class, and on a connection that stays open
        statuses = [client.get("jobs").status_code for _ in range(3)]
        assert statuses == [200, 429, 429]
        assert client.get("documents").status_code == 429
        assert client.post("query", json={"query": "lights"}).json()["error"]["code"] == (
            "rate_limited"
        )


# -- the memory itself -----------------------------------------------------------------------------


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def refused(wait: float) -> Admission:
    return Admission("search", 60, is_allowed=False, remaining=0, wait=wait)


def remembered(wait: float, **headers: str) -> tuple[RefusedCalls, Clock, Any]:
    clock, call = Clock(), call_of("Bearer key", "POST", "/query")
    calls = RefusedCalls(clock)
    calls.remember(call, refused(wait), headers)
    return calls, clock, call


def test_a_refusal_is_forgotten_when_the_limit_has_room_again():
    calls, clock, call = remembered(2.5, Allow="POST")
    found = calls.find(call)
    assert found is not None
    assert (found.admission.reset_seconds, found.headers) == (3, {"Allow": "POST"})
    clock.now += 2.0
    found = calls.find(call)
    assert found is not None
    assert found.admission.reset_seconds == 1
    clock.now += 0.5
    assert calls.find(call) is None
    assert calls.is_empty


def test_a_long_refusal_is_asked_about_again_after_some_seconds():
    calls, clock, call = remembered(60.0)
    clock.now += MAX_SECONDS - 1
    found = calls.find(call)
    assert found is not None
    assert found.admission.reset_seconds == 60 - MAX_SECONDS + 1
    clock.now += 1
    assert calls.find(call) is None


def test_another_key_method_or_path_is_another_call():
    calls, _, _ = remembered(60.0)
    for other in (("Bearer other", "POST", "/query"), ("Bearer key", "GET", "/query")):
        assert calls.find(call_of(*other)) is None
    assert calls.find(call_of("Bearer key", "POST", "/query/")) is None


def test_the_memory_is_bounded_and_makes_room_for_new_refusals():
    calls, clock, _ = remembered(60.0)
    for n in range(2 * MAX_CALLS):
        calls.remember(call_of("Bearer key", "GET", f"/{n}"), refused(60.0), {})
    assert len(calls._calls) == MAX_CALLS
    clock.now += MAX_SECONDS
    late = call_of("Bearer key", "GET", "/late")
    calls.remember(late, refused(60.0), {})
    assert calls.find(late) is not None
    assert len(calls._calls) == 1
