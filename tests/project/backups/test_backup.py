"""Backups: made while the service works, restored elsewhere with the same answers."""

import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.core.management import CommandError, call_command
from django.db import connections
from django.test import Client

from documents.backups import making, manifest, programs, restoring
from documents.backups.errors import BackupFailed
from documents.backups.making import back_up
from documents.backups.role_names import renamed
from documents.intake import deferred_removals
from documents.models import Document, DocumentVersion, Namespace, PutOffRemoval
from documents.verification import auditing
from ragsite.database.tenancy import operator

from ...client import Api
from ...documents.test_originals import RemoteStorage
from ..service import ROOT, until
from ..test_tenant_wall import rows
from .elsewhere import NOTES, Elsewhere, answers_here, disconnect_others, stored

pytestmark = pytest.mark.usefixtures("db")

# Tables with their indexes and sequences, also those without a model, and functions.
RELATIONS = (
    "SELECT relname FROM pg_class WHERE relnamespace IN ('public'::regnamespace, "
    "'ragsite'::regnamespace) UNION ALL SELECT proname || '()' FROM pg_proc "
    "WHERE pronamespace = 'ragsite'::regnamespace"
)


def test_a_backup_restored_elsewhere_gives_the_same_answers(
    filled: Namespace, api: Api, elsewhere: Elsewhere, tmp_path: Path
):
    before = answers_here(api)
    assert all(before)
    call_command("backup", str(tmp_path / "saved"))
    done = elsewhere.manage("restore", tmp_path / "saved")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "everything is as it should be" in done.stdout
    assert elsewhere.answers(filled) == before
    # The wall stands there too, with that server's own roles and passwords.
    probe = (
        "from django.db import connection as c; from ragsite.database import roles; "
        "roles.require_row_security('default'); k = c.cursor(); "
        "k.execute('SELECT count(*) FROM documents_chunk'); print(k.fetchone()[0]); "
        'k.execute("SELECT count(*) FROM pg_proc JOIN pg_roles r ON r.oid = proowner '
        "WHERE prosecdef AND rolname = 'ragsite_definer'\"); print(k.fetchone()[0] > 10)"
    )
    shown = elsewhere.manage("shell", "-v", "0", "-c", probe)
    assert shown.stdout.split() == ["0", "True"], shown.stderr
    # A key of this server opens the door there, which counts the request in a table of its own.
    asked = (
        "from django.test import Client; "
        f"sent = {{'Authorization': 'Bearer {api.key}', 'Host': '127.0.0.1'}}; "
        "print(Client().get('/api/v1/documents', headers=sent).status_code)"
    )
    shown = elsewhere.manage("shell", "-v", "0", "-c", asked)
    assert shown.stdout.split()[-1:] == ["200"], shown.stdout + shown.stderr
    again = elsewhere.manage("restore", tmp_path / "saved")
    assert again.returncode == 1
    assert "--replace" in again.stderr
    replaced = elsewhere.manage("restore", tmp_path / "saved", "--replace")
    assert replaced.returncode == 0, replaced.stdout + replaced.stderr
    assert relations(elsewhere) >= relations_here()


def relations_here() -> set[str]:
    with connections["owner"].cursor() as cursor:
        cursor.execute(RELATIONS)
        return {name for (name,) in cursor.fetchall()}


def relations(elsewhere: Elsewhere) -> set[str]:
    probe = (
        "from django.db import connections; k = connections['owner'].cursor(); "
        f"k.execute({RELATIONS!r}); print(*(name for (name,) in k.fetchall()))"
    )
    return set(elsewhere.manage("shell", "-v", "0", "-c", probe).stdout.split())


def test_roles_may_be_called_otherwise_where_it_is_restored(
    filled: Namespace, api: Api, tmp_path: Path
):
    before = answers_here(api)
    back_up(tmp_path / "saved")
    other = Elsewhere(tmp_path / "other", DATABASE_ROLE_PREFIX="Other Company")
    done = other.manage("restore", tmp_path / "saved")
    assert done.returncode == 0, done.stdout + done.stderr
    assert other.answers(filled) == before


def test_it_is_consistent_while_documents_come_and_go(
    filled: Namespace,
    client: Client,
    api: Api,
    work: Callable[[], int],
    elsewhere: Elsewhere,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
):
    """Between the dump and the copying, every document of the dump is deleted or replaced."""
    before = answers_here(api)
    with operator():
        keys = set(DocumentVersion.objects.values_list("storage_key", flat=True))
        ids = list(Document.objects.values_list("pk", flat=True))
    copying = making._copy_originals

    def after_changes(*arguments: Any) -> Any:
        for document_id in ids:
            assert api.delete(f"documents/{document_id}").status == 200
        api.upload(("new.md", "# New\n\nCame while the backup was being made."))
        work()
        assert stored(filled) > keys  # nothing has gone yet
        assert PutOffRemoval.objects.using("operator").count() == len(keys)
        return copying(*arguments)

    monkeypatch.setattr(making, "_copy_originals", after_changes)
    made = back_up(tmp_path / "saved")
    assert made.problems == []
    assert made.originals == len(keys)
    assert not stored(filled) & keys  # gone now
    with operator():
        assert not PutOffRemoval.objects.exists()
    assert auditing.verify().is_clean
    done = elsewhere.manage("restore", tmp_path / "saved")
    assert done.returncode == 0, done.stdout + done.stderr
    assert elsewhere.answers(filled) == before


def test_it_is_consistent_under_a_stream_of_uploads_and_deletions(
    filled: Namespace, api_of: Callable[..., Api], elsewhere: Elsewhere, tmp_path: Path
):
    stop, failures = threading.Event(), []

    def keep_changing(name: int) -> None:
        api, number = api_of(filled), 0
        try:
            while not stop.is_set():
                number += 1
                taken = api.upload((f"{name}-{number}.md", f"# {name}\n\nNumber {number}."))
                document_id = taken.body["results"][0]["document_id"]
                if number % 2 and api.delete(f"documents/{document_id}").status != 200:
                    failures.append(document_id)
        finally:
            connections.close_all()

    changing = [threading.Thread(target=keep_changing, args=(name,)) for name in range(3)]
    for thread in changing:
        thread.start()
    try:
        with operator():
            until(lambda: Document.objects.count() > 10, seconds=120)
        made = [back_up(tmp_path / f"saved-{number}") for number in range(3)]
    finally:
        stop.set()
        for thread in changing:
            thread.join()
    assert not failures
    assert [one.problems for one in made] == [[], [], []]
    assert made[0].originals < made[2].originals
    done = elsewhere.manage("restore", tmp_path / "saved-2")
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_killed_backup_leaves_nothing_that_looks_complete(
    filled: Namespace, api: Api, elsewhere: Elsewhere, tmp_path: Path
):
    target = tmp_path / "saved"
    here = Elsewhere(django_settings.HOME)
    for _ in range(3):
        killed = subprocess.Popen(
            [sys.executable, "manage.py", "backup", str(target)],
            cwd=ROOT,
            env=here.environment,
            start_new_session=True,
        )
        until((tmp_path / "saved.partial" / manifest.DUMP).exists, seconds=120, every=0.005)
        os.killpg(killed.pid, signal.SIGKILL)
        killed.wait()
        assert not target.exists()
        refused = elsewhere.manage("restore", tmp_path / "saved.partial")
        assert refused.returncode == 1
        assert "not a complete backup" in refused.stderr
    # The lock went with the process: removals go on, and so do backups.
    until(lambda: not deferred_removals.waiting(["uploads/x/y"]), seconds=60)
    assert back_up(target).problems == []
    assert not (tmp_path / "saved.partial").exists()
    with operator():
        document = Document.objects.get(source_uri="upload:kiln.md")
    assert api.delete(f"documents/{document.pk}").body["files"] == 1
    assert len(stored(filled)) == 1


def test_two_backups_at_once_are_refused(filled: Namespace, tmp_path: Path):
    with deferred_removals.removals_deferred(), pytest.raises(BackupFailed, match="Another backup"):
        back_up(tmp_path / "saved")
    assert list(tmp_path.iterdir()) == []


def test_a_target_that_exists_is_left_alone(filled: Namespace, tmp_path: Path):
    (tmp_path / "saved").mkdir()
    with pytest.raises(CommandError, match="exists already"):
        call_command("backup", str(tmp_path / "saved"))
    assert list((tmp_path / "saved").iterdir()) == []


def test_a_damaged_original_is_named_and_the_rest_is_saved(
    filled: Namespace, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    key = sorted(stored(filled))[0]
    (django_settings.HOME / "storage" / key).write_bytes(b"something else")
    with pytest.raises(SystemExit):
        call_command("backup", str(tmp_path / "saved"))
    assert "1 original could not be read" in capsys.readouterr().err
    assert manifest.read(tmp_path / "saved").problems == [key]


def test_what_is_left_out_is_what_nobody_needs(filled: Namespace, boss: Client, tmp_path: Path):
    assert rows("SELECT count(*) FROM django_session")[0][0] == 1
    made = back_up(tmp_path / "saved")
    assert "django_session" not in made.rows
    secret = django_settings.SECRET_KEY.encode()
    for path in (tmp_path / "saved").rglob("*"):
        assert not path.is_file() or secret not in path.read_bytes()
    assert (tmp_path / "saved" / manifest.DUMP).stat().st_mode & 0o777 in (0o600, 0o644)
    assert (tmp_path / "saved").stat().st_mode & 0o777 == 0o700


def test_without_postgresqls_programs_it_says_what_to_install(
    filled: Namespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(programs, "_folders", list)
    with pytest.raises(BackupFailed, match="postgresql-client-"):
        back_up(tmp_path / "saved")
    assert list(tmp_path.iterdir()) == []


def test_roles_are_renamed_in_statements_and_never_in_rows():
    dump = (
        b"SET transaction_timeout = 0;\n"
        b"ALTER TABLE public.t OWNER TO postgres;\n"
        b"CREATE POLICY tenant ON public.t TO rs_app USING ((EXISTS ( SELECT\n"
        b'GRANT SELECT ON TABLE public.t TO "rs_app";\n'
        b"COPY public.t (id, text) FROM stdin;\n"
        b"1\tGRANT SELECT ON TABLE public.t TO rs_app;\n"
        b"GRANT SELECT ON TABLE public.t TO rs_app;\n"
        b"\\.\n"
        b"REVOKE ALL ON FUNCTION ragsite.f() FROM PUBLIC;\n"
    )
    names = {"postgres": "boss", "rs_app": 'the "app"'}
    assert b"".join(renamed(dump.splitlines(keepends=True), names)) == (
        b'ALTER TABLE public.t OWNER TO "boss";\n'
        b'CREATE POLICY tenant ON public.t TO "the ""app""" USING ((EXISTS ( SELECT\n'
        b'GRANT SELECT ON TABLE public.t TO "the ""app""";\n'
        b"COPY public.t (id, text) FROM stdin;\n"
        b"1\tGRANT SELECT ON TABLE public.t TO rs_app;\n"
        b"GRANT SELECT ON TABLE public.t TO rs_app;\n"
        b"\\.\n"
        b"REVOKE ALL ON FUNCTION ragsite.f() FROM PUBLIC;\n"
    )


@contextmanager
def other_storage(settings: Any) -> Iterator[None]:
    settings.STORAGES = {
        **settings.STORAGES,
        "default": {"BACKEND": "tests.documents.test_originals.RemoteStorage"},
    }
    RemoteStorage.held.clear()
    yield


def test_originals_in_an_object_store_are_backed_up_and_brought_back(
    tenant: Namespace, api: Api, work: Callable[[], int], tmp_path: Path, settings: Any
):
    with other_storage(settings):
        api.upload(("notes.md", NOTES))
        work()
        back_up(tmp_path / "saved")
        held = dict(RemoteStorage.held)
        RemoteStorage.held.clear()
        disconnect_others()
        restoring.restore(tmp_path / "saved", replace=True)
        assert RemoteStorage.held == held
        RemoteStorage.held.clear()
    shutil.rmtree(tmp_path / "saved")
