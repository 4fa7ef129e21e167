"""What is wrong is said before anything starts, with what to do about it."""

from io import StringIO

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import connection, connections

from ragsite.database import roles
from ragsite.database.tenancy import operator
from ragsite.service import preflight


def test_a_full_disk_is_named(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(preflight, "NEEDED_BYTES", 2**62)
    with pytest.raises(preflight.CannotStart, match=f"disk is full.*{settings.HOME}.*RAGSITE_HOME"):
        preflight.require_disk_space()


@pytest.mark.usefixtures("db")
def test_this_server_and_these_roles_will_do():
    preflight.require_usable_database()


@pytest.mark.usefixtures("db")
def test_tables_are_made_in_public_whatever_the_owner_is_called():
    owner = connections["owner"]
    with owner.cursor() as cursor:
        cursor.execute("CREATE SCHEMA AUTHORIZATION CURRENT_USER; RESET search_path")
        try:
            cursor.execute("SELECT current_schema()")
            assert cursor.fetchone() != ("public",), "PostgreSQL prefers a schema of that name"
            call_command("migrate", verbosity=0)
            cursor.execute("SELECT current_schema()")
            assert cursor.fetchone() == ("public",)
        finally:
            cursor.execute("SELECT quote_ident(current_user)")
            cursor.execute(f"DROP SCHEMA {cursor.fetchone()[0]}")


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


@pytest.mark.usefixtures("db")
def test_users_are_made_by_command_although_the_application_may_not_see_them(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setenv("DJANGO_SUPERUSER_PASSWORD", "long enough for it")
    call_command(
        "createsuperuser", interactive=False, username="anna", email="a@example.com", verbosity=0
    )
    with operator():
        assert User.objects.get(username="anna").check_password("long enough for it")
    monkeypatch.setattr("getpass.getpass", lambda *args, **kwargs: "another long enough one")
    call_command("changepassword", "anna", stdout=StringIO())
    with operator():
        assert User.objects.get(username="anna").check_password("another long enough one")
