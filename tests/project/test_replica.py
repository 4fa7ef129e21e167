"""Searches read from a replica that is recent enough, and from the primary otherwise.

The replica is real: a copy of the tests' server that streams what it writes.
"""

import itertools
import json
import os
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.db import OperationalError, connections
from psycopg.errors import SerializationFailure

from documents.models import Namespace
from ragsite.database import replica, tenancy
from ragsite.platform.breaker import Breaker

from ..client import Api
from ..standby import Standby, standby_of

REPOSITORY = Path(__file__).resolve().parents[2]

needs_embedded = pytest.mark.skipif(
    settings.EMBEDDED_SERVER is None, reason="a copy can only be made of the embedded server"
)


@pytest.fixture(scope="module")
def standby(database: None) -> Iterator[Standby]:
    with standby_of(settings.EMBEDDED_SERVER) as running:
        yield running


@pytest.fixture
def with_replica(db: None, standby: Standby, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    own = {**connections.settings["default"], "HOST": str(standby.sockets), "PORT": 5432}
    monkeypatch.setitem(connections.settings, "replica", own)
    monkeypatch.setattr(replica, "_breaker", Breaker(failures=1, pause=30))
    monkeypatch.setattr(replica, "_positions", replica.PrimaryPositions(lambda: 1000.0))
    yield
    if standby.sql("SELECT pg_is_in_recovery()"):
        standby.sql("SELECT pg_wal_replay_resume()::text")
    connections["replica"].close()


@pytest.fixture
def tower(api: Api, work: Callable[[], int]) -> str:
    added = api.upload(("tower.md", "# Tower\n\nThe tower is made of granite."))
    assert work() == 1
    return str(added.body["results"][0]["document_id"])


def owner(statement: str, *values: Any) -> Any:
    with connections["owner"].cursor() as cursor:
        cursor.execute(statement, values)
        return cursor.fetchone()[0] if cursor.description else None


def everything_replayed(standby: Standby) -> None:
    standby.has_caught_up(owner("SELECT pg_current_wal_insert_lsn()"))


budgets = itertools.count(1000)


def asked(api: Api) -> tuple[list[str], list[str]]:
    """The tags of what was found, and the fallbacks. No answer comes from the cache."""
    answer = api.query("What is the tower made of?", token_budget=next(budgets))
    assert answer.status == 200, answer.body
    (hit,) = answer.body["results"]
    return hit["tags"], answer.body["diagnostics"]["fallbacks"]


def tag_secretly(document_id: str, tag: str) -> None:
    """As no part of the service does: without a new revision. So a replica without it is recent
    enough, as long as it does not lag too far behind."""
    owner("SELECT set_config('synchronous_commit', 'on', false)")  # the tests' server has it off
    owner("UPDATE documents_document SET tags = ARRAY[%s] WHERE id = %s", tag, document_id)


@needs_embedded
@pytest.mark.usefixtures("with_replica")
def test_who_has_written_finds_it_and_others_read_what_was_there_a_moment_ago(
    api: Api, standby: Standby, tower: str
):
    everything_replayed(standby)
    assert asked(api) == ([], [])
    standby.sql("SELECT pg_wal_replay_pause()::text")
    tag_secretly(tower, "primary")
    assert asked(api) == ([], [])  # from the replica
    assert api.patch(f"documents/{tower}", {"tags": ["told"]}).status == 200
    assert asked(api) == (["told"], ["primary: replica_behind"])
    standby.sql("SELECT pg_wal_replay_resume()::text")
    everything_replayed(standby)
    tag_secretly(tower, "later")
    assert asked(api)[1] == []


@needs_embedded
@pytest.mark.usefixtures("with_replica")
def test_a_replica_may_lag_for_some_seconds_and_an_idle_one_does_not_lag(
    api: Api, standby: Standby, tower: str, monkeypatch: pytest.MonkeyPatch
):
    now = 1000.0
    monkeypatch.setattr(replica, "_positions", replica.PrimaryPositions(lambda: now))
    everything_replayed(standby)
    assert asked(api) == ([], [])
    now += 3600  # an hour in which nothing is written
    assert asked(api) == ([], [])
    standby.sql("SELECT pg_wal_replay_pause()::text")
    tag_secretly(tower, "primary")
    now += 4
    assert asked(api) == ([], [])
    now += 4
    assert asked(api) == (["primary"], ["primary: replica_behind"])


@needs_embedded
@pytest.mark.usefixtures("with_replica")
def test_a_namespace_that_the_replica_does_not_know_yet_is_read_from_the_primary(
    standby: Standby,
    new_namespace: Callable[..., Namespace],
    api_of: Callable[..., Api],
    work: Callable[[], int],
):
    everything_replayed(standby)
    standby.sql("SELECT pg_wal_replay_pause()::text")
    api = api_of(new_namespace("young"))
    api.upload(("tower.md", "# Tower\n\nThe tower is made of granite."))
    work()
    assert asked(api) == ([], ["primary: replica_behind"])


@needs_embedded
@pytest.mark.usefixtures("with_replica", "db")
def test_a_read_that_the_replica_has_to_cancel_goes_to_the_primary_and_the_next_one_does_not(
    tenant: Namespace, standby: Standby
):
    everything_replayed(standby)
    aliases = []

    def work() -> str:
        aliases.append(tenancy.current_connection().alias)
        if aliases == ["replica"]:
            raise OperationalError from SerializationFailure("conflict with recovery")
        return "done"

    version = {"namespace_id": tenant.pk, "version": "SELECT 1"}
    assert replica.read(work, **version) == ("done", "primary: replica_conflict")
    assert replica.read(work, **version) == ("done", "")
    assert aliases == ["replica", "default", "replica"]


def test_positions_are_required_as_they_were_when_the_time_began():
    now = 0.0
    positions = replica.PrimaryPositions(lambda: now)
    assert positions.required(100, max_lag=5) == 100
    now = 2.0
    assert positions.required(200, max_lag=5) == 100
    now = 6.0
    assert positions.required(300, max_lag=5) == 200
    now = 6.1
    assert positions.required(400, max_lag=0) == 400


def search(tenant: Namespace, replica_url: str) -> dict[str, Any]:
    """In a process of its own: aliases are read from the environment at the start."""
    done = subprocess.run(
        [sys.executable, "manage.py", "search", "tower", "--namespace", tenant.slug, "--json"],
        cwd=REPOSITORY,
        env={**os.environ, "DATABASE_REPLICA_URL": replica_url},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_replica_that_is_away_costs_nothing_but_a_note(tower: str, tenant: Namespace):
    answer = search(tenant, "postgres://127.0.0.1:1/ragsite")
    assert answer["results"][0]["title"] == "Tower"
    assert answer["diagnostics"]["fallbacks"] == ["primary: replica_unavailable"]


@needs_embedded
def test_a_replica_is_named_by_its_address_and_of_several_the_first_that_answers_is_taken(
    tower: str, tenant: Namespace, standby: Standby
):
    everything_replayed(standby)
    sockets = str(standby.sockets).replace("/", "%2F")
    answer = search(tenant, f"postgres://%2Fnowhere:5432,{sockets}:5432/ragsite")
    assert answer["results"][0]["title"] == "Tower"
    assert answer["diagnostics"]["fallbacks"] == []


def test_without_a_replica_nothing_is_said(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(replica, "_breaker", Breaker(failures=1, pause=1))
    assert replica.read(lambda: 7, namespace_id=uuid.uuid4(), version="") == (7, "")


@needs_embedded
@pytest.mark.usefixtures("with_replica")
def test_a_replica_that_was_promoted_is_behind_nobody(api: Api, standby: Standby, tower: str):
    """Last, because it ends the replication."""
    everything_replayed(standby)
    standby.promote()
    assert standby.sql("SELECT pg_is_in_recovery()") is False
    tag_secretly(tower, "primary")
    assert asked(api) == ([], [])
