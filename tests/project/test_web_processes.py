"""How many web processes there are by default, and what several of them share."""

import os
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

import environ
import httpx2
import pytest

from ragsite.settings import web

from .service import Service, until

TOKEN = "t" * 40
QUESTION = {"query": "How long is the warranty on a lamp?"}


@pytest.mark.parametrize(("cores", "processes"), [(1, 1), (2, 1), (4, 2), (6, 3), (64, 3)])
def test_one_web_process_for_every_two_cores(
    monkeypatch: pytest.MonkeyPatch, cores: int, processes: int
):
    monkeypatch.delenv("WEB_PROCESSES", raising=False)
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(cores)))
    assert web.processes(environ.Env()) == processes


def test_the_number_of_web_processes_can_be_set(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("WEB_PROCESSES", "7")
    assert web.processes(environ.Env()) == 7


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    extra = {"WEB_PROCESSES": "2", "METRICS_TOKEN": TOKEN}
    service = Service(tmp_path_factory.mktemp("processes"), extra=extra)
    try:
        service.start()
        yield service
    finally:
        service.kill_everything()


def asked(service: Service, times: int, *, key: str = "") -> list[httpx2.Response]:
    """Ask on a new connection each time: either process may accept it."""
    responses = []
    for _ in range(times):
        with service.client(key) as client:
            responses.append(client.post("query", json=QUESTION))
    return responses


def searches(service: Service) -> Counter[str]:
    page = httpx2.get(f"{service.url}/metrics", headers={"Authorization": f"Bearer {TOKEN}"})
    found = re.findall(r'ragsite_search_calls_total\{cache="(\w+)"\} (\S+)', page.text)
    return Counter({cache: int(float(count)) for cache, count in found})


def caches(responses: list[httpx2.Response]) -> Counter[str]:
    return Counter(response.json()["diagnostics"]["cache"] for response in responses)


def test_two_processes_share_one_limit(service: Service):
    created = service.command("api_key", "create", "--namespace", "default", "--limits", "search=7")
    statuses = Counter(r.status_code for r in asked(service, 30, key=created.stdout.strip()))
    assert statuses == {200: 7, 429: 23}


def test_each_has_its_cache_neither_is_stale_and_metrics_are_of_both(service: Service):
    before = searches(service)
    first = caches(asked(service, 20))
    assert first["miss"] <= 2  # the first question of each, unless an earlier test asked it
    text = "# Lamps\n\nThe warranty on a lamp is ninety-nine years since today."
    document: dict[str, Any] = {"content": text, "source_uri": "new", "media_type": "text/markdown"}
    with service.client() as client:
        sent = client.post("ingest", json={"documents": [document]}).json()["results"][0]
        job = f"jobs/{sent['job_id']}"
        until(lambda: client.get(job).json()["state"] == "succeeded", seconds=120)
    second = asked(service, 20)
    assert all("new" in [hit["source_uri"] for hit in r.json()["results"]] for r in second)
    assert 1 <= caches(second)["miss"] <= 2
    assert searches(service) - before == first + caches(second)
