"""The service behind PgBouncer in transaction mode: everything works, and nothing leaks from one
client of a connection to the next."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings

from documents.models import Namespace
from ragsite.postgres.account import Account

from .. import pooler
from ..client import Api
from .test_guard_rails import ROOT

pytestmark = [
    pytest.mark.skipif(bool(pooler.why_not()), reason=pooler.why_not() or "present"),
    pytest.mark.skipif(settings.EMBEDDED_SERVER is None, reason="put before the embedded server"),
]

# In the web process: its pool, its side threads, eight clients of two namespaces at once.
CLIENTS = """
import json, os, threading
import django; django.setup()
from django.db import connections
from django.test import Client
keys, rounds, wrong, statuses = json.loads(os.environ["KEYS"]), 25, [], []
def ask(own, other):
    client = Client(headers={"Authorization": f"Bearer {keys[own]}"})
    for n in range(rounds):
        body = {"query": f"Who keeps the {own} tower? {n}"}
        answer = client.post("/api/v1/query", body, content_type="application/json")
        statuses.append(answer.status_code)
        if other in answer.text or own not in answer.text.partition('"results"')[2]:
            wrong.append(answer.text[:300])
    connections.close_all()
pairs = [("granite", "marble"), ("marble", "granite")] * 4
threads = [threading.Thread(target=ask, args=pair) for pair in pairs]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
with connections["default"].cursor() as cursor:
    cursor.execute(
        "SELECT current_setting('ragsite.namespace', true), count(*) FROM documents_chunk"
    )
    left = cursor.fetchone()
print(json.dumps([sorted(set(statuses)), len(statuses), wrong[:2], left]))
"""


@pytest.fixture
def behind(db: None) -> Iterator[Path]:
    server = settings.EMBEDDED_SERVER
    users = [f"{settings.DATABASE_ROLE_PREFIX}_{kind}" for kind in ("app", "operator")]
    account = Account.for_data(server.home / "postgres" / "data")
    with pooler.pooler_before(server.socket_dir(), account, *users) as folder:
        yield folder


def run(behind: Path, *arguments: str, **environment: str) -> str:
    address = f"postgres://{str(behind).replace('/', '%2F')}:{pooler.PORT}/ragsite"
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env={**os.environ, "DATABASE_POOLER_URL": address, **environment},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_tenants_that_share_two_connections_never_see_each_other(
    behind: Path,
    api_of: Callable[..., Api],
    tenant: Namespace,
    other_tenant: Namespace,
    work: Callable[[], int],
):
    keys = {}
    for owner, word in ((tenant, "granite"), (other_tenant, "marble")):
        api = api_of(owner)
        api.upload((f"{word}.md", f"# Tower\n\nThe {word} tower is kept by the {word} keeper."))
        keys[word] = api.key
    work()
    web = {"RAGSITE_PROCESS": "web", "ALLOWED_HOSTS": "*", "KEYS": json.dumps(keys)}
    answers: list[Any] = json.loads(run(behind, "-c", CLIENTS, **web).splitlines()[-1])
    statuses, count, wrong, left = answers
    assert (statuses, count, wrong) == ([200], 200, [])
    assert left[0] in (None, "")
    assert left[1] == 0  # without a tenant, nobody's rows
    (stats,) = [row for row in pooler.shown(behind, "STATS") if row["database"] == "ragsite"]
    assert int(str(stats["total_xact_count"])) > 400
    servers = [row for row in pooler.shown(behind, "SERVERS") if row["user"] == "ragsite_app"]
    assert 0 < len(servers) <= pooler.CONNECTIONS
    assert any(int(str(row["prepared_statements"])) > 0 for row in servers)


def test_jobs_run_behind_it_and_index_changes_go_past_it(
    behind: Path, tenant: Namespace, tmp_path: Path
):
    """Building a vector index holds a lock of its session, which must not be a shared one."""
    (tmp_path / "tower.md").write_text("# Tower\n\nThe tower is made of granite.")
    added = run(behind, "manage.py", "ingest", str(tmp_path), "--namespace", tenant.slug)
    assert "1" in added
    made = "profile", "create", "small", "--embedder", "hashing", "--ann", "hnsw", "--size", "40"
    run(behind, "manage.py", *made)
    run(behind, "manage.py", "namespace", "create", "pooled", "--profile", "small")
    found = run(behind, "manage.py", "search", "granite", "--namespace", tenant.slug, "--json")
    assert json.loads(found)["results"][0]["title"] == "Tower"
    seen = {row["user"] for row in pooler.shown(behind, "SERVERS")}
    assert seen <= {"ragsite_app", "ragsite_operator", "pooler"}
