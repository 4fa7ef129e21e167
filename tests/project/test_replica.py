"""Searches read from a replica, and from the primary when it does not answer."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.conf import settings

from documents.models import Namespace
from ragsite.database import replica
from ragsite.platform.breaker import Breaker

from ..client import Api

REPOSITORY = Path(__file__).resolve().parents[2]


def search(tenant: Namespace, replica_url: str) -> dict:
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


@pytest.fixture
def tower(api: Api, work) -> None:
    api.upload(("tower.md", "# Tower\n\nThe tower is made of granite."))
    assert work() == 1


def test_a_replica_that_is_away_costs_nothing_but_a_note(tower: None, tenant: Namespace):
    answer = search(tenant, "postgres://127.0.0.1:1/ragsite")
    assert answer["results"][0]["title"] == "Tower"
    assert answer["diagnostics"]["fallbacks"] == ["primary: replica_unavailable"]


def test_a_replica_that_answers_is_read_from(tower: None, tenant: Namespace):
    """The same server under another alias: what counts is that the whole search runs there."""
    database = settings.DATABASES["default"]
    address = f"postgres://{database['HOST'].replace('/', '%2F')}:{database['PORT']}/ragsite"
    answer = search(tenant, address)
    assert answer["results"][0]["title"] == "Tower"
    assert answer["diagnostics"]["fallbacks"] == []


def test_without_a_replica_nothing_is_said(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(replica, "_breaker", Breaker(failures=1, pause=1))
    assert replica.read(lambda: 7) == (7, "")
