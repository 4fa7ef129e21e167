"""Backups: made while the service works, restored elsewhere with the same answers, or refused."""

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.core.files.base import ContentFile
from django.core.management import CommandError, call_command
from django.db import connections
from django.test import Client

from documents import housekeeping
from documents.backups import making, manifest, programs, restoring
from documents.backups.errors import BackupFailed
from documents.backups.making import back_up
from documents.backups.role_names import renamed
from documents.intake import originals, put_off, unowned
from documents.models import Document, DocumentVersion, Namespace, PutOffRemoval
from documents.verification import auditing
from ragsite.database.tenancy import operator

from ..client import Api
from ..documents.test_originals import RemoteStorage
from .service import ROOT, until
from .test_tenant_wall import rows

pytestmark = pytest.mark.usefixtures("db")

QUESTIONS = ("harbour lights", "who keeps the log", "kiln degrees")
NOTES = "# Harbour\n\nThe harbour has twelve lights.\n\n# Log\n\nThe master keeps the log in ink."


@pytest.fixture(autouse=True)
def _no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(auditing, "PAUSE_SECONDS", 0)


@pytest.fixture
def filled(tenant: Namespace, api: Api, work: Callable[[], int]) -> Namespace:
    api.upload(("notes.md", NOTES))
    api.upload(("kiln.md", "# Kiln\n\nThe kiln reaches 1200 degrees."))
    work()
    api.post("facts", {"subject": "Ada", "predicate": "lives in", "object": "Oslo"})
    return tenant


class Elsewhere:
    """Another installation: its own home, database server and secrets."""

    def __init__(self, home: Path, **extra: str) -> None:
        self.home = home
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("RAGSITE", "DJANGO"))}
        own = {"RAGSITE_HOME": str(home), "RAGSITE_PG_FSYNC": "off", "ENV_FILE": os.devnull}
        self.environment = {**kept, **own, **extra}

    def manage(self, *arguments: object) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "manage.py", *map(str, arguments)],
            cwd=ROOT,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )

    def answers(self, tenant: Namespace) -> list[Any]:
        where = ("--namespace", tenant.slug, "--json")
        found = [self.manage("search", question, *where) for question in QUESTIONS]
        assert all(done.returncode == 0 for done in found), found
        return [essence(json.loads(done.stdout)) for done in found]


@pytest.fixture
def elsewhere(tmp_path: Path) -> Elsewhere:
    return Elsewhere(tmp_path / "elsewhere")


def essence(answer: dict[str, Any]) -> list[Any]:
    """What of an answer does not depend on the moment."""
    kept = ("chunk_id", "document_id", "content", "start", "end", "score", "relevance")
    return [{name: hit[name] for name in kept if name in hit} for hit in answer["results"]]


def answers_here(api: Api) -> list[Any]:
    return [essence(api.query(question, k=5).body) for question in QUESTIONS]


def restore_here(saved: Path) -> None:
    """Restore over this database."""
    disconnect_others()
    call_command("restore", str(saved), "--replace")


def disconnect_others() -> None:
    """End the connections of threads that have helped with searches."""
    with connections["owner"].cursor() as cursor:
        cursor.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE usename IN ('ragsite_app', 'ragsite_operator')"
        )


def stored(tenant: Namespace) -> set[str]:
    root = django_settings.HOME / "storage"
    folder = root / "uploads" / str(tenant.pk)
    return {str(path.relative_to(root)) for path in folder.rglob("*") if path.is_file()}


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
    again = elsewhere.manage("restore", tmp_path / "saved")
    assert again.returncode == 1
    assert "--replace" in again.stderr


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
    until(lambda: not put_off.waiting(["uploads/x/y"]), seconds=60)
    assert back_up(target).problems == []
    assert not (tmp_path / "saved.partial").exists()
    with operator():
        document = Document.objects.get(source_uri="upload:kiln.md")
    assert api.delete(f"documents/{document.pk}").body["files"] == 1
    assert len(stored(filled)) == 1


def test_two_backups_at_once_are_refused(filled: Namespace, tmp_path: Path):
    with put_off.removals_put_off(), pytest.raises(BackupFailed, match="Another backup"):
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


def damaged(saved: Path, part: str) -> None:
    if part == "original":
        path = next(path for path in (saved / manifest.FILES).rglob("*") if path.is_file())
        path.write_bytes(path.read_bytes() + b" ")
    elif part == "newer":
        text = json.loads((saved / manifest.NAME).read_text())
        text["format"] = manifest.FORMAT + 1
        (saved / manifest.NAME).write_text(json.dumps(text))
    elif part == "migration":
        text = json.loads((saved / manifest.NAME).read_text())
        text["migrations"]["documents"].append("9999_of_tomorrow")
        (saved / manifest.NAME).write_text(json.dumps(text))
    elif part == "manifest":
        path = saved / manifest.NAME
        path.write_text(path.read_text()[:-100])
    else:
        path = saved / (manifest.DUMP if part == "dump" else manifest.LIST)
        path.write_bytes(path.read_bytes()[:-10])


@pytest.mark.parametrize(
    ("part", "sentence"),
    [
        ("original", "missing or damaged"),
        ("dump", "missing or damaged"),
        ("list", "missing or damaged"),
        ("manifest", "cannot be read"),
        ("newer", "newer one"),
        ("migration", "Upgrade first"),
    ],
)
def test_a_damaged_or_newer_backup_is_refused_before_anything_changes(
    filled: Namespace, api: Api, tmp_path: Path, part: str, sentence: str
):
    back_up(tmp_path / "saved")
    damaged(tmp_path / "saved", part)
    before, files = answers_here(api), stored(filled)
    with pytest.raises(CommandError, match=sentence):
        restore_here(tmp_path / "saved")
    assert (answers_here(api), stored(filled)) == (before, files)


def test_a_key_that_leads_out_of_the_storage_is_refused(filled: Namespace, tmp_path: Path):
    back_up(tmp_path / "saved")
    listed = tmp_path / "saved" / manifest.LIST
    listed.write_text(listed.read_text().replace("uploads/", "uploads/../../../"))
    text = json.loads((tmp_path / "saved" / manifest.NAME).read_text())
    part = manifest.digest(listed)
    text["listed"] = {"sha256": part.sha256, "bytes": part.bytes}
    (tmp_path / "saved" / manifest.NAME).write_text(json.dumps(text))
    with pytest.raises(CommandError, match="cannot be read"):
        restore_here(tmp_path / "saved")


def test_a_restore_that_fails_halfway_leaves_the_database_as_it_was(
    filled: Namespace, api: Api, tmp_path: Path
):
    back_up(tmp_path / "saved")
    text = json.loads((tmp_path / "saved" / manifest.NAME).read_text())
    text["rows"]["documents_chunk"] += 1  # the last thing that is compared
    (tmp_path / "saved" / manifest.NAME).write_text(json.dumps(text))
    api.upload(("later.md", "# Later\n\nNot in the backup."))
    before = answers_here(api)
    with pytest.raises(CommandError, match="database was not changed"):
        restore_here(tmp_path / "saved")
    assert answers_here(api) == before
    with operator():
        assert Document.objects.filter(source_uri="upload:later.md").exists()


def test_a_running_service_is_not_replaced(
    filled: Namespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    back_up(tmp_path / "saved")
    monkeypatch.setattr(restoring, "PATIENCE", 0.5)
    other = connections.create_connection("default")
    try:
        other.ensure_connection()
        with pytest.raises(CommandError, match="Stop it first"):
            call_command("restore", str(tmp_path / "saved"), "--replace")
    finally:
        other.close()


def age(*keys: str) -> None:
    """Make stored files five days old, as housekeeping looks at them."""
    for key in keys:
        path = django_settings.HOME / "storage" / key
        then = path.stat().st_mtime - 5 * 86_400
        os.utime(path, (then, then))


def in_folder_of_earlier_days(key: str) -> str:
    """Move a stored file to the folder of five days ago."""
    day = f"{datetime.now(UTC) - timedelta(days=5):%Y-%m-%d}"
    parts = key.split("/")
    moved = "/".join([*parts[:2], day, parts[3]])
    root = django_settings.HOME / "storage"
    (root / moved).parent.mkdir(parents=True, exist_ok=True)
    (root / key).rename(root / moved)
    return moved


def test_files_younger_than_a_restored_database_are_kept(
    filled: Namespace, api: Api, work: Callable[[], int], tmp_path: Path
):
    """Nothing deletes the originals of documents that the older database does not know."""
    back_up(tmp_path / "saved")
    known = stored(filled)
    api.upload(("later.md", "# Later\n\nUploaded after the backup."))
    work()
    (later,) = stored(filled) - known
    restore_here(tmp_path / "saved")
    with operator():
        assert not Document.objects.filter(source_uri="upload:later.md").exists()
    later = in_folder_of_earlier_days(later)
    age(later)
    housekeeping.tidy()
    report = auditing.verify(repair=True)
    assert [(one.check, one.examples) for one in report.findings] == [
        (unowned.KEPT_FILES, (later,))
    ]
    assert stored(filled) == known | {later}
    call_command("verify", "--repair", "--forget-restore")
    assert stored(filled) == known


def test_a_database_restored_by_other_means_is_noticed(filled: Namespace):
    assert unowned.kept_until() is None
    with connections["owner"].cursor() as cursor:
        cursor.execute("UPDATE documents_databaseidentity SET identity = 'another/1/1'")
    orphan = originals.store(ContentFile(b"of a younger document"), namespace_id=filled.pk)
    orphan = in_folder_of_earlier_days(orphan)
    age(orphan)
    assert unowned.kept_until() is not None
    housekeeping.tidy()
    assert orphan in stored(filled)
    unowned.forget_restore()
    housekeeping.tidy()
    assert orphan not in stored(filled)


def test_removals_put_off_are_made_up_for_by_housekeeping(filled: Namespace, api: Api):
    with operator():
        ids = list(Document.objects.values_list("pk", flat=True))
    with put_off.removals_put_off():
        for document_id in ids:
            assert api.delete(f"documents/{document_id}").status == 200
        for key in stored(filled):
            age(key)
        housekeeping.tidy()
        assert len(stored(filled)) == 2
        assert auditing.verify(repair=True).is_clean
        assert len(stored(filled)) == 2
    assert not auditing.verify().is_clean  # nobody has removed them yet
    housekeeping.tidy()
    assert stored(filled) == set()
    assert auditing.verify().is_clean


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
