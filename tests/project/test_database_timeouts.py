"""Statements, locks and idle transactions that take too long are ended, on every connection."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import psycopg
import pytest
from django.conf import settings
from django.db import DatabaseError, OperationalError, connection, connections
from django.test import Client

from documents.admin.namespaces import NamespaceAdmin
from documents.api.profiles import ProfileListView
from documents.models import Document, Namespace
from evaluation.experiments import ann_methods
from ragsite.database import replica
from ragsite.database.tenancy import namespace
from ragsite.database.timeouts import is_timeout
from retrieval.candidates import side_thread

from ..client import Api
from .test_guard_rails import ROOT

SHOW = """
from django.db import connections
def shown(alias):
    names = ("statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout")
    with connections[alias].cursor() as cursor:
        return [cursor.execute(f"SHOW {name}").fetchone()[0] for name in names]
"""


@contextmanager
def timeouts(alias: str = "default", **seconds: float) -> Iterator[None]:
    """Connections of this test's, with short timeouts."""
    options = settings.DATABASES[alias]["OPTIONS"]
    before = options["options"]
    names = {"statement": "statement_timeout", "lock": "lock_timeout"}
    names["idle"] = "idle_in_transaction_session_timeout"
    extra = " ".join(f"-c {names[name]}={n * 1000:.0f}" for name, n in seconds.items())
    connections[alias].close()
    connections[alias].settings_dict["OPTIONS"] = {**options, "options": f"{before} {extra}"}
    try:
        yield
    finally:
        connections[alias].close()
        connections[alias].settings_dict["OPTIONS"] = options


def sleeps(*args: Any, **kwargs: Any) -> Any:
    with connections["default"].cursor() as cursor:
        cursor.execute("SELECT pg_sleep(30)")


def in_process(code: str, **environment: str) -> Any:
    done = subprocess.run(
        [sys.executable, "-c", f"import django; django.setup()\n{SHOW}\nimport json\n{code}"],
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_a_statement_that_takes_too_long_is_cut_and_answered_503(
    api: Api, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(ProfileListView, "get", sleeps)
    with timeouts(statement=0.3):
        answer = api.get("profiles")
        assert (answer.status, answer.code) == (503, "database_timeout")
        assert answer.headers["Retry-After"] == "5"
        assert api.get("documents").status == 200  # the connection is as good as before


def test_a_page_of_the_admin_that_takes_too_long_is_answered_503(
    boss: Client, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(NamespaceAdmin, "get_queryset", sleeps)
    boss.raise_request_exception = False
    with timeouts(statement=0.3):
        answer = boss.get("/admin/documents/namespace/")
    assert answer.status_code == 503
    assert answer.headers["Retry-After"] == "5"
    assert "<h1>That took too long</h1>" in answer.text


def test_a_request_does_not_wait_for_a_lock_for_ever(api: Api, tenant: Namespace):
    taken = api.upload(("a.md", "# A\n\nWords.")).body["results"][0]["document_id"]
    address = connections["owner"].get_connection_params()
    wanted = {name: address[name] for name in ("dbname", "user", "host", "port")}
    with closing(psycopg.connect(**wanted)) as holder:
        holder.execute("SELECT FROM documents_document WHERE id = %s FOR UPDATE", [taken])
        with timeouts(lock=0.3):
            answer = api.patch(f"documents/{taken}", {"tags": ["x"]})
        assert (answer.status, answer.code) == (503, "database_timeout")
        holder.rollback()
    assert api.patch(f"documents/{taken}", {"tags": ["x"]}).status == 200


def test_a_transaction_that_idles_is_ended_and_the_next_one_works(tenant: Namespace):
    with timeouts(idle=0.3):

        def idle() -> None:
            with namespace(tenant.pk):
                Document.objects.count()
                time.sleep(1.5)
                Document.objects.count()

        with pytest.raises(DatabaseError, match="idle-in-transaction") as ended:
            idle()
        assert is_timeout(ended.value)
        with namespace(tenant.pk):
            assert Document.objects.count() == 0


def test_what_timed_out_is_not_tried_again_elsewhere(
    tenant: Namespace, monkeypatch: pytest.MonkeyPatch
):
    tries = []

    def work() -> None:
        tries.append(1)
        sleeps()

    with timeouts(statement=0.2):
        connection.ensure_connection()
        with pytest.raises(OperationalError):
            side_thread._with_live_connection(work)
        assert len(tries) == 1
        monkeypatch.setattr(replica, "connections", {"replica": connection})
        monkeypatch.setattr(replica, "reading_from", lambda alias: namespace(tenant.pk))
        monkeypatch.setattr(replica, "_ask", lambda *asked: (1, 1))
        with pytest.raises(OperationalError):
            replica.read(work, namespace_id=tenant.pk, version="")
        assert len(tries) == 2


def test_each_kind_of_process_and_role_has_its_own(db: None):
    show_all = "print(json.dumps({a: shown(a) for a in ('default', 'operator', 'owner')}))"
    web = in_process(show_all, RAGSITE_PROCESS="web")
    assert web == {
        "default": ["30s", "10s", "1min"],
        "operator": ["1min", "10s", "10min"],
        "owner": ["0", "0", "0"],
    }
    worker = in_process(show_all, RAGSITE_PROCESS="worker", DATABASE_WORKER_LOCK_SECONDS="7")
    assert worker["default"] == worker["operator"] == ["15min", "7s", "10min"]
    assert worker["owner"] == ["0", "0", "0"]


def test_in_the_web_process_a_sleep_is_cut_by_the_environments_setting(api: Api):
    """The real pool, the real role, the real way through a request, and the side threads."""
    code = f"""
from django.db import connection
from django.test import Client
from documents.api.profiles import ProfileListView
from retrieval.candidates import side_thread
def slow(self, request):
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_sleep(30)")
ProfileListView.get = slow
headers = {{"Authorization": "Bearer {api.key}"}}
answers = [Client().get("/api/v1/profiles", headers=headers) for _ in range(2)]
told = [(a.status_code, a.json()["error"]["code"]) for a in answers]
beside = side_thread.start(shown, "default").result()
print(json.dumps([*told, connection.pool is not None, beside]))
"""
    cut, again, is_pooled, beside = in_process(
        code, RAGSITE_PROCESS="web", DATABASE_WEB_STATEMENT_SECONDS="0.5", ALLOWED_HOSTS="*"
    )
    assert cut == again == [503, "database_timeout"]
    assert is_pooled
    assert beside == ["500ms", "10s", "1min"]


def test_behind_a_pooler_the_roles_have_timeouts_and_the_workers_transactions_longer_ones(
    tenant: Namespace,
):
    code = f"""
import uuid
from ragsite.database.tenancy import namespace
def inside():
    with namespace(uuid.UUID("{tenant.pk}")):
        return shown("default")
print(json.dumps([shown("default"), inside(), shown("default"), shown("operator")]))
"""
    usual = ["30s", "10s", "1min"]
    operators = ["1min", "10s", "10min"]
    pooler = {"DATABASE_STARTUP_OPTIONS": "false"}
    worker = in_process(code, RAGSITE_PROCESS="worker", **pooler)
    assert worker == [usual, ["15min", "1min", "10min"], usual, operators]
    web = in_process(code, RAGSITE_PROCESS="web", **pooler)
    assert web == [usual, usual, usual, operators]


def test_work_that_takes_long_in_a_command_has_no_timeout_in_its_way(tenant: Namespace):
    """Building an index belongs to the owner, who has none; the ANN benchmark lifts its own."""
    seen = []

    class Stop(Exception):
        pass

    def look(cursor: Any, *args: Any) -> Any:
        cursor.execute("SHOW statement_timeout")
        seen.append(cursor.fetchone()[0])
        raise Stop

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ann_methods, "_nearest", look)
        patch.setattr(ann_methods, "MIN_VECTORS", 0)
        with pytest.raises(Stop):
            ann_methods.measure_methods(tenant, [[0.0] * 256])
    assert seen == ["0"]
