"""/metrics: who may read it, what is counted, and values shared between processes."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
import yaml
from django.conf import settings as django_settings
from django.test import Client
from prometheus_client.metrics import MetricWrapperBase

from documents.models import Namespace
from ragsite.platform import metrics
from ragsite.service import metrics_server
from ragsite.service.metrics_page import QueueCollector

from ..client import Api
from .service import free_port

DOCS = Path(django_settings.BASE_DIR) / "docs"


def value(metric: Any, *labels: str) -> float:
    child = metric.labels(*labels) if labels else metric
    found: float = child._value.get()
    return found


def test_without_a_token_there_is_no_such_page(client: Client, db: None):
    assert client.get("/metrics").status_code == 404


@pytest.mark.parametrize("sent", ["", "Bearer wrong", "Bearer ", "the-token"])
def test_only_the_token_opens_it(client: Client, db: None, settings: Any, sent: str):
    settings.METRICS_TOKEN = "the-token"
    refused = client.get("/metrics", headers={"Authorization": sent})
    assert refused.status_code == 401
    assert b"ragsite_" not in refused.content


def test_the_page(
    client: Client, api: Api, settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv(metrics.FOLDER_VARIABLE, str(tmp_path))
    settings.METRICS_TOKEN = "the-token"
    api.upload(("secret-name.md", "# Secret title"))
    page = client.get("/metrics", headers={"Authorization": "Bearer the-token"})
    assert page.status_code == 200
    text = page.content.decode()
    assert re.search(r'^ragsite_jobs\{state="queued"\} 1\.0$', text, re.MULTILINE)
    assert "ragsite_database_up 1.0" in text
    assert re.search(r"^ragsite_oldest_queued_job_seconds \d", text, re.MULTILINE)
    assert "tenant" not in text
    assert "ecret" not in text


def test_ingestion_and_search_are_counted(
    api: Api, work: Callable[[], int], tenant: Namespace, caplog: Any
):
    names = (metrics.INGESTED_CHUNKS, metrics.EMBEDDING_TOKENS)
    before = [value(name) for name in names]
    ready, failed = value(metrics.INGESTED_FILES, "ready"), value(metrics.INGESTED_FILES, "failed")
    missed, hit = value(metrics.SEARCH_CALLS, "miss"), value(metrics.SEARCH_CALLS, "hit")
    api.upload(("a.md", "# Kiln\n\nHeat it slowly."), ("b.pdf", b"%PDF-1.4 nothing else"))
    work()
    assert value(metrics.INGESTED_FILES, "ready") == ready + 1
    assert value(metrics.INGESTED_FILES, "failed") == failed + 1
    assert all(value(name) > earlier for name, earlier in zip(names, before, strict=True))
    with caplog.at_level("INFO"):
        api.query("How is the kiln heated?", k=3)
        api.query("How is the kiln heated?", k=3)
    assert value(metrics.SEARCH_CALLS, "miss") == missed + 1
    assert value(metrics.SEARCH_CALLS, "hit") == hit + 1
    line = next(record for record in caplog.records if record.message == "search.done")
    assert (line.top_k, line.query_chars, line.hits) == (3, 23, 1)
    assert len(line.scores) == 1
    assert 0 < line.mean_similarity <= 1
    assert line.namespace == str(tenant.pk)
    assert "kiln" not in json.dumps(vars(line), default=str).lower()


SCRIPT = """
import django; django.setup()
from ragsite.platform import metrics
"""


def run(home: Path, code: str) -> str:
    environment = {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "ragsite.settings",
        "ENV_FILE": os.devnull,
        "RAGSITE_HOME": str(home),
        "METRICS_TOKEN": "t",
    }
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT + code], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_processes_share_their_values_also_after_they_have_ended(tmp_path: Path):
    count = "metrics.INGESTED_CHUNKS.inc(5); metrics.ANSWER_SECONDS.observe(2)\n"
    run(tmp_path, count)
    run(tmp_path, count)
    shown = run(tmp_path, f"{count}print(metrics.exposition().decode())")
    assert "ragsite_ingested_chunks_total 15.0" in shown
    files = list((tmp_path / "run" / "metrics").glob("counter_*.db"))
    assert len(files) == 3
    merged = run(tmp_path, "metrics.merge_ended(); print(metrics.exposition().decode())")
    assert "ragsite_ingested_chunks_total 15.0" in merged
    assert "ragsite_answer_seconds_count 3.0" in merged
    again = run(tmp_path, f"{count}metrics.merge_ended(); print(metrics.exposition().decode())")
    assert "ragsite_ingested_chunks_total 20.0" in again
    names = {file.name for file in (tmp_path / "run" / "metrics").glob("counter_*.db")}
    assert "counter_0.db" in names
    assert len(names) <= 3


def test_alerts_and_dashboard_name_only_metrics_that_exist(db: None):
    declared = {
        f"{family.name}{'_total' if family.type == 'counter' else ''}"
        for metric in vars(metrics).values()
        if isinstance(metric, MetricWrapperBase)
        for family in metric.collect()
    }
    declared |= {family.name for family in QueueCollector().collect()}
    declared |= {"ragsite_oldest_queued_job_seconds", "ragsite_worker_silent_seconds"}
    rules = yaml.safe_load((DOCS / "monitoring" / "alerts.yml").read_text())
    board = json.loads((DOCS / "monitoring" / "dashboard.json").read_text())
    expressions = [rule["expr"] for group in rules["groups"] for rule in group["rules"]]
    expressions += [target["expr"] for panel in board["panels"] for target in panel["targets"]]
    used = {name for each in expressions for name in re.findall(r"ragsite_[a-z_]+", each)}
    assert {name.removesuffix("_bucket") for name in used} <= declared
    page = (DOCS / "observability.md").read_text()
    assert all(name in page for name in declared)


@pytest.fixture
def worker_host(settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The address of what a host without a web server serves."""
    monkeypatch.setenv(metrics.FOLDER_VARIABLE, str(tmp_path))
    settings.METRICS_TOKEN, settings.HOST = "the-token", "127.0.0.1"
    settings.METRICS_PORT = free_port()
    server = metrics_server.start()
    assert server is not None
    yield f"http://127.0.0.1:{settings.METRICS_PORT}"
    server.shutdown()
    server.server_close()


def test_a_host_with_only_workers_serves_its_counters_to_those_with_the_token(worker_host: str):
    token = {"Authorization": "Bearer the-token"}
    page = httpx2.get(f"{worker_host}/metrics", headers=token)
    assert page.status_code == 200
    assert "version=" in page.headers["Content-Type"]
    assert httpx2.get(f"{worker_host}/metrics").status_code == 401
    wrong = {"Authorization": "Bearer the-toke"}
    assert httpx2.get(f"{worker_host}/metrics", headers=wrong).status_code == 401
    assert httpx2.get(f"{worker_host}/", headers=token).status_code == 404


def test_without_a_token_or_a_port_a_worker_serves_nothing(settings: Any):
    settings.METRICS_TOKEN, settings.METRICS_PORT = "", free_port()
    assert metrics_server.start() is None
    settings.METRICS_TOKEN, settings.METRICS_PORT = "the-token", 0
    assert metrics_server.start() is None
