"""The admin destroys nothing by one click, does nothing without a trace, and runs no code."""

import os
import subprocess
import sys
import uuid
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.contrib import admin
from django.contrib.auth.models import Group, User
from django.db import DatabaseError, connections, transaction
from django.test import Client
from django.utils import timezone
from django_q.conf import Conf
from django_q.models import OrmQ, Schedule

from documents.accounts import audit
from documents.ingestion import bulk_removal, removal
from documents.jobs import heartbeat
from documents.models import AuditEvent, Chunk, Document, DocumentRemoval, IngestJob, Namespace
from ragsite.database.tenancy import namespace, operator

from ..client import Api
from .test_admin import address, rows, run_action, run_confirmed

pytestmark = pytest.mark.usefixtures("db")


def events(action: str) -> list[AuditEvent]:
    return rows(AuditEvent, action=action)


@pytest.fixture
def many(api: Api, monkeypatch: pytest.MonkeyPatch) -> list[Document]:
    """More than a confirmation lists by title."""
    monkeypatch.setattr(bulk_removal, "SLICE_SECONDS", 600.0)  # one slice, on a slow machine, too
    for part in range(3):
        files = [(f"{part}-{n}.md", f"# Title {part}-{n}\n\nText {part} {n}.") for n in range(10)]
        assert api.upload(*files).status == 202
    return rows(Document)


# -- asking first ------------------------------------------------------------------------------


def test_deleting_asks_with_count_and_titles_and_deletes_nothing_yet(
    boss: Client, many: list[Document]
):
    everything = {
        "action": "remove",
        "select_across": "1",
        "_selected_action": [str(many[0].pk)],
    }
    page = boss.post(address(Document), everything)
    assert page.status_code == 200
    assert "Delete 30 documents?" in page.text
    assert "and 10 more" in page.text
    assert sum(str(document) in page.text for document in many) == 20
    assert len(rows(Document)) == 30
    assert rows(DocumentRemoval) == []
    for forged in ("yes", "1", ""):
        boss.post(address(Document), {**everything, "confirmed": forged})
    assert rows(DocumentRemoval) == []


def test_confirmed_deletion_runs_in_the_background_and_is_traced(
    boss: Client, many: list[Document]
):
    everything = {"action": "remove", "select_across": "1", "_selected_action": [str(many[0].pk)]}
    fingerprint = boss.post(address(Document), everything).context["fingerprint"]
    done = boss.post(address(Document), {**everything, "confirmed": fingerprint}, follow=True)
    assert "Deleting 30 documents" in done.text
    assert len(rows(Document)) == 30  # nothing yet: the workers do it
    (asked,) = events("document.delete_many")
    assert (asked.actor_kind, asked.actor, asked.count) == ("user", "boss", 30)
    assert bulk_removal.work()
    assert not bulk_removal.work()
    assert rows(Document) == []
    (result,) = rows(DocumentRemoval)
    assert (result.state, result.removed, result.failed) == ("done", 30, 0)
    assert "30 of 30 deleted" in boss.get(address(DocumentRemoval)).text
    each = events("document.delete")
    assert len(each) == 30
    assert {(event.actor_kind, event.actor) for event in each} == {("user", "boss")}
    assert {event.request_id for event in each} == {asked.request_id}


def test_a_selection_that_has_changed_is_asked_about_again(
    boss: Client, many: list[Document], api: Api
):
    everything = {"action": "remove", "select_across": "1", "_selected_action": [str(many[0].pk)]}
    fingerprint = boss.post(address(Document), everything).context["fingerprint"]
    api.upload(("new.md", "# New\n\nCame in between."))
    page = boss.post(address(Document), {**everything, "confirmed": fingerprint})
    assert "The selection has changed" in page.text
    assert "Delete 31 documents?" in page.text
    assert rows(DocumentRemoval) == []


def test_one_document_is_deleted_from_its_own_page_and_asks_too(
    boss: Client, onlooker: Client, many: list[Document]
):
    document = many[0]
    page = address(Document, "remove", document.pk)
    assert page in boss.get(address(Document, "change", document.pk)).text
    assert page not in onlooker.get(address(Document, "change", document.pk)).text
    assert onlooker.post(page, {"confirmed": "x"}).status_code == 403
    asked = boss.get(page)
    assert "Delete 1 document?" in asked.text
    assert boss.post(page).status_code == 200  # without the answer: asked again
    assert rows(DocumentRemoval) == []
    assert boss.post(page, {"confirmed": asked.context["fingerprint"]}).status_code == 302
    bulk_removal.work()
    assert not rows(Document, pk=document.pk)
    assert boss.get(address(Document, "remove", uuid.uuid4())).status_code == 404


def test_a_deletion_that_was_cut_short_is_taken_up_again(
    many: list[Document], tenant: Namespace, monkeypatch: pytest.MonkeyPatch
):
    bulk_removal.request(tenant.pk, [document.pk for document in many])
    with operator():
        OrmQ.objects.using("default").all().delete()  # the wake-up is lost
    remove = removal.remove
    calls = 0

    def dies_at_the_third(*arguments: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == 3:
            raise SystemExit  # a worker that is killed
        return remove(*arguments)

    monkeypatch.setattr(removal, "remove", dies_at_the_third)
    with pytest.raises(SystemExit):
        bulk_removal.work()
    assert not bulk_removal.work()  # it holds its lease
    with namespace(tenant.pk):
        DocumentRemoval.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
    bulk_removal.wake_workers()
    assert OrmQ.objects.using("default").count() == 1
    assert bulk_removal.work()
    (result,) = rows(DocumentRemoval)
    assert (result.state, result.removed) == ("done", 30)
    assert rows(Document) == []


def test_a_worker_whose_deletion_was_taken_over_stops(
    many: list[Document], tenant: Namespace, monkeypatch: pytest.MonkeyPatch
):
    requested = bulk_removal.request(tenant.pk, [document.pk for document in many])
    remove = removal.remove
    taken_over: list[Any] = []

    def suspended(namespace_id: uuid.UUID, document_id: uuid.UUID) -> Any:
        if not taken_over:
            with namespace(tenant.pk):
                DocumentRemoval.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
            taken_over.append(bulk_removal._claim(requested.pk, tenant.pk))
        return remove(namespace_id, document_id)

    monkeypatch.setattr(removal, "remove", suspended)
    assert bulk_removal.work()
    (result,) = rows(DocumentRemoval)
    assert (result.state, result.removed, len(result.document_ids)) == ("running", 0, 30)
    with namespace(tenant.pk):
        taken_over[0].release()
    assert bulk_removal.work()
    assert rows(Document) == []


def test_one_document_that_cannot_be_deleted_does_not_stop_the_others(
    many: list[Document], tenant: Namespace, monkeypatch: pytest.MonkeyPatch
):
    remove = removal.remove

    def stumbles(namespace_id: uuid.UUID, document_id: uuid.UUID) -> Any:
        if document_id == many[5].pk:
            raise OSError("The storage is away.")
        return remove(namespace_id, document_id)

    monkeypatch.setattr(removal, "remove", stumbles)
    bulk_removal.request(tenant.pk, [document.pk for document in many])
    while bulk_removal.work():
        pass
    (result,) = rows(DocumentRemoval)
    assert (result.state, result.removed, result.failed) == ("done", 29, 1)
    assert [document.pk for document in rows(Document)] == [many[5].pk]


def test_documents_of_another_namespace_are_left_out(many: list[Document], other_tenant: Namespace):
    asked = bulk_removal.request(other_tenant.pk, [document.pk for document in many])
    assert asked.total == 0
    assert bulk_removal.work()
    assert len(rows(Document)) == 30


def test_revoking_keys_and_cancelling_jobs_ask_first(boss: Client, api: Api, many: list[Document]):
    from documents.models import ApiKey

    assert "Revoke 1 API key?" in run_action(boss, "revoke", rows(ApiKey)).text
    assert api.get("documents").status == 200
    assert "Cancel 30 jobs?" in run_action(boss, "cancel", rows(IngestJob)).text
    assert len(rows(IngestJob, state="queued")) == 30
    run_confirmed(boss, "revoke", rows(ApiKey))
    (event,) = events("key.revoke")
    assert (event.actor, event.namespace_slug) == ("boss", "tenant")


# -- the trace ---------------------------------------------------------------------------------


def test_edits_by_hand_are_traced_without_their_values(boss: Client):
    boss.post(address(Namespace, "add"), {"slug": "acme", "name": "A"})
    (made,) = rows(Namespace)
    boss.post(address(Namespace, "change", made.pk), {"slug": "acme", "name": "Hidden name"})
    (change,) = events("namespace.change")
    assert (change.actor, change.target_label, change.details) == (
        "boss",
        "acme",
        {"fields": ["Name"]},
    )
    assert events("namespace.create")
    boss.post(address(Group, "add"), {"name": "readers"})
    with operator():
        groups = list(Group.objects.all())
    boss.post(address(Group, "delete", groups[0].pk), {"post": "yes"})
    (gone,) = events("group.delete")
    assert (gone.actor, gone.target_label, gone.address) == ("boss", "readers", "127.0.0.1")


def test_a_new_password_is_traced_and_not_kept(boss: Client):
    with operator():
        user = User.objects.create_user("ann", password="long enough")
    form = {
        "password1": "correct horse 9",
        "password2": "correct horse 9",
        "usable_password": "true",
    }
    page = f"/admin/auth/user/{user.pk}/password/"
    assert boss.post(page, form).status_code == 302
    (event,) = events("user.change")
    assert event.target_label == "ann"
    assert "correct horse" not in repr(vars(event))


def test_changing_ones_own_password_is_traced(boss: Client):
    form = {"new_password1": "correct horse 9", "new_password2": "correct horse 9"}
    assert boss.post("/admin/password_change/", {**form, "old_password": "no"}).status_code == 200
    assert not events("user.password_change")
    right = {**form, "old_password": "long enough"}
    assert boss.post("/admin/password_change/", right).status_code == 302
    assert [event.actor for event in events("user.password_change")] == ["boss"]


def test_the_audit_log_can_be_searched_and_not_changed(boss: Client, api: Api, tenant: Namespace):
    audit.record("test.needle", namespace=tenant, target=audit.Target("thing", "7", "haystack"))
    audit.record("test.other", namespace=tenant)
    (needle,) = events("test.needle")
    listed = boss.get(f"{address(AuditEvent)}?q=haystack")
    assert listed.context["cl"].result_count == 1
    assert boss.get(f"{address(AuditEvent)}?action__exact=test.other").status_code == 200
    change = address(AuditEvent, "change", needle.pk)
    assert "haystack" in boss.get(change).text
    assert boss.get(address(AuditEvent, "add")).status_code == 403
    assert boss.post(change, {"actor": "nobody"}).status_code == 403
    assert boss.post(address(AuditEvent, "delete", needle.pk), {"post": "yes"}).status_code == 403
    run_action(boss, "delete_selected", [needle])
    assert events("test.needle")


# -- no code by hand ----------------------------------------------------------------------------


def test_the_queues_own_pages_are_not_there(boss: Client):
    assert not [m for m in admin.site._registry if m._meta.app_label == "django_q"]
    for page in ("schedule/", "schedule/add/", "success/", "failure/", "ormq/", ""):
        assert boss.get(f"/admin/django_q/{page}").status_code == 404, page
    form = {"func": "os.mkdir", "args": "'/tmp/never'", "schedule_type": "O", "repeats": "-1"}
    assert boss.post("/admin/django_q/schedule/add/", form).status_code == 404


@pytest.mark.parametrize("alias", ["default", "operator"])
def test_no_role_of_the_service_can_write_a_schedule(alias: str):
    for verb in ("SELECT * FROM", "DELETE FROM"):
        with (
            pytest.raises(DatabaseError, match="permission denied"),
            transaction.atomic(using=alias),
            connections[alias].cursor() as cursor,
        ):
            cursor.execute(f"{verb} django_q_schedule")
    with pytest.raises(DatabaseError, match="permission denied"), transaction.atomic(using=alias):
        Schedule.objects.using(alias).create(func="os.getpid")


def test_operators_cannot_put_tasks_into_the_queue():
    with (
        pytest.raises(DatabaseError, match="permission denied"),
        transaction.atomic(using="operator"),
    ):
        OrmQ.objects.using("operator").create(key="ragsite", payload="x")


def test_a_schedule_that_is_there_all_the_same_does_not_run(tmp_path: Any):
    assert Conf.SCHEDULER is False
    made = tmp_path / "made"
    Schedule.objects.using("owner").create(
        func="os.mkdir", args=f"{str(made)!r}", next_run=timezone.now() - timedelta(minutes=5)
    )
    # The cluster's guard looks at schedules every 30 seconds; here at its first turn, which it
    # finishes before it stops.
    code = (
        "import django; django.setup()\n"
        "from django_q.conf import Conf; Conf.GUARD_CYCLE = 30\n"
        "from django_q.cluster import Cluster\n"
        "cluster = Cluster(); cluster.start(); cluster.stop()\n"
    )
    environment = {"DJANGO_SETTINGS_MODULE": "tests.settings"}
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=django_settings.BASE_DIR,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert not made.exists()
    assert Schedule.objects.using("owner").get().task is None
    assert OrmQ.objects.using("default").count() == 0


def test_the_first_page_shows_the_queue_and_the_workers(
    boss: Client, api: Api, work: Callable[[], int]
):
    page = boss.get("/admin/")
    assert "No worker has reported yet" in page.text
    assert page.context["work"].are_silent
    api.upload(("a.md", "# A\n\nText."), ("blank.md", " \n "))
    heartbeat.beat(heartbeat.group())
    status = boss.get("/admin/").context["work"]
    assert (status.waiting.rows, status.running.rows, status.queue_length) == (2, 0, 2)
    assert status.oldest_waiting <= timezone.now()
    assert not status.are_silent
    work()
    status = boss.get("/admin/").context["work"]
    assert (status.waiting.rows, status.failures) == (0, [("no_text", 1)])
    counts = {name: count.rows for name, count in status.documents.items()}
    assert counts == {"ready": 1, "failed": 1, "queued": 0, "processing": 0, "cancelled": 0}
    assert rows(Chunk)
