"""What is wrong is said before anything starts, with what to do about it."""

import pytest
from django.conf import settings
from django.db import connection

from ragsite.database import roles
from ragsite.service import preflight


def test_a_full_disk_is_named(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(preflight, "NEEDED_BYTES", 2**62)
    with pytest.raises(preflight.CannotStart, match=f"disk is full.*{settings.HOME}.*RAGSITE_HOME"):
        preflight.require_disk_space()


@pytest.mark.usefixtures("db")
def test_this_server_and_these_roles_will_do():
    preflight.require_usable_database()


@pytest.mark.usefixtures("db")
def test_an_old_postgresql_is_refused_with_a_way_out(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(roles, "MIN_POSTGRES", 990000)
    with pytest.raises(roles.UnsuitableDatabase, match=r"needs PostgreSQL 15.*PostgreSQL 1\d"):
        roles.require_supported(connection)


@pytest.mark.usefixtures("db")
def test_an_old_pgvector_is_refused_with_a_way_out(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(roles, "MIN_PGVECTOR", (99, 0, 0))
    with pytest.raises(preflight.CannotStart, match=r"needs pgvector 0\.8\.4.*Install a newer"):
        preflight.require_usable_database()
