"""The audit log: who did what to how many, written once and never changed."""

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
from django.conf import settings
from django.core.management import call_command
from django.db import DatabaseError, connections, transaction

from documents.accounts import audit, keys
from documents.models import AuditEvent, Document, Namespace
from ragsite.access.actor import Actor, acting_as, command_actor
from ragsite.database.tenancy import namespace, operator

from ..client import Api

pytestmark = pytest.mark.usefixtures("db")


def events(action: str = "") -> list[AuditEvent]:
    with operator():
        found = AuditEvent.objects.order_by("created_at")
        return list(found.filter(action=action) if action else found)


def sql(statement: str, alias: str) -> Any:
    with transaction.atomic(using=alias), connections[alias].cursor() as cursor:
        cursor.execute(statement)
        return cursor.fetchall() if cursor.description else cursor.rowcount


def test_a_deletion_by_api_names_key_namespace_target_and_request(
    tenant: Namespace, api: Api, work: Callable[[], int]
):
    id_ = api.upload(("harbour.md", "# Harbour\n\nTwelve lights.")).body["results"][0][
        "document_id"
    ]
    work()
    answer = api.call("DELETE", f"documents/{id_}", **{"X-Request-ID": "trace-me"})
    assert answer.status == 200
    (event,) = events("document.delete")
    assert (event.actor_kind, event.actor) == ("key", api.key.split("_")[1])
    assert (event.namespace_id, event.namespace_slug) == (tenant.pk, "tenant")
    assert (event.target_kind, event.target_id) == ("document", id_)
    assert event.target_label == ""  # its title would outlive it
    assert event.details["chunks"] >= 1
    assert event.request_id == "trace-me"
    assert event.address == "127.0.0.1"
    assert api.key.split("_", 2)[2] not in repr(vars(event))


def test_changing_and_indexing_again_leave_a_trace_without_content(api: Api):
    id_ = api.upload(("a.md", "# A\n\nText.")).body["results"][0]["document_id"]
    assert api.patch(f"documents/{id_}", {"tags": ["secret plans"]}).status == 200
    assert api.post(f"documents/{id_}/reindex").status == 202
    (change,) = events("document.change")
    assert change.details == {"fields": ["tags"]}
    assert [event.target_id for event in events("document.reindex")] == [id_]


def test_a_refused_call_leaves_no_trace_and_the_next_request_is_somebody_else(
    api: Api, tenant: Namespace
):
    before = len(events())
    assert api.delete("documents/00000000-0000-4000-8000-000000000000").status == 404
    assert len(events()) == before
    audit.record("test.outside", namespace=tenant)
    assert events("test.outside")[0].actor_kind == "system"


def test_a_deed_that_is_rolled_back_leaves_no_trace(tenant: Namespace):
    def fail_after_recording() -> None:
        with namespace(tenant.pk):
            audit.record("test.undone")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail_after_recording()
    assert not events("test.undone")


def test_commands_are_named_with_their_os_user(tenant: Namespace):
    done = subprocess.run(
        [sys.executable, "manage.py", "api_key", "create", "--namespace", "tenant"],
        cwd=settings.BASE_DIR,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    prefix = done.stdout.strip().split("_")[1]
    (event,) = events("key.create")
    assert event.actor_kind == "command"
    assert event.actor.endswith(": manage.py api_key")
    assert prefix in event.target_label
    assert done.stdout.strip().split("_", 2)[2] not in repr(vars(event))


def test_a_commands_arguments_are_not_kept():
    actor = command_actor(["manage.py", "api_key", "create", "--name", "hush"])
    assert "hush" not in actor.label
    assert "api_key" in actor.label


def test_revoking_and_ingesting_by_command_are_counted(tenant: Namespace, tmp_path: Any):
    with operator():
        key, _ = keys.issue(tenant, scopes=["read"])
    call_command("api_key", "revoke", key.prefix)
    assert [event.target_id for event in events("key.revoke")] == [str(key.pk)]
    for n in range(3):
        (tmp_path / f"{n}.md").write_text(f"# {n}\n\nText {n}.")
    with acting_as(Actor("command", "me: manage.py ingest")):
        call_command("ingest", str(tmp_path), "--namespace", "tenant", "--no-wait")
    (event,) = events("document.ingest")
    assert (event.count, event.actor) == (3, "me: manage.py ingest")


def test_events_survive_their_namespace(tenant: Namespace):
    audit.record("test.kept", namespace=tenant.pk)
    with operator():
        Namespace.objects.filter(pk=tenant.pk).delete()
    (event,) = events("test.kept")
    assert (event.namespace_id, event.namespace_slug) == (tenant.pk, "tenant")


@pytest.mark.parametrize("alias", ["default", "operator"])
@pytest.mark.parametrize(
    "verb",
    [
        "UPDATE documents_auditevent SET count = 0",
        "DELETE FROM documents_auditevent",
        "TRUNCATE documents_auditevent",
    ],
)
def test_no_role_of_the_service_changes_or_deletes_events(tenant: Namespace, alias: str, verb: str):
    audit.record("test.kept", namespace=tenant)
    with pytest.raises(DatabaseError, match="permission denied"):
        sql(verb, alias)


def test_a_tenant_sees_its_own_events_only(tenant: Namespace, other_tenant: Namespace):
    audit.record("test.mine", namespace=tenant)
    audit.record("test.theirs", namespace=other_tenant)
    audit.record("test.nobodys")
    with namespace(tenant.pk):
        seen = set(AuditEvent.objects.values_list("action", flat=True))
    assert "test.mine" in seen
    assert not seen & {"test.theirs", "test.nobodys"}


def test_old_events_are_pruned_and_young_ones_cannot_be(tenant: Namespace, settings: Any):
    audit.record("test.old", namespace=tenant)
    audit.record("test.young", namespace=tenant)
    for action, days in (("old", 400), ("young", 20)):
        moved = f"created_at = now() - interval '{days} days' WHERE action = 'test.{action}'"
        sql(f"UPDATE documents_auditevent SET {moved}", "owner")
    settings.AUDIT_DAYS = 0  # as somebody would who wants to hide something
    assert audit.prune() == 1
    assert not events("test.old")
    assert events("test.young")


def test_a_document_without_a_title_and_odd_text_can_be_recorded(tenant: Namespace):
    odd = audit.Target("document", "1", "a\x00b\ud800" + "x" * 500)
    audit.record("test.odd", namespace=tenant, target=odd, details={"n": float("nan")})
    assert events("test.odd")[0].target_label.startswith("ab")
    assert Document.objects.count() == 0


def test_admin_keys_read_their_own_namespaces_log_and_no_other_keys_do(
    api_of: Callable[..., Api], tenant: Namespace, other_tenant: Namespace
):
    audit.record("test.mine", namespace=tenant, details={"n": 1})
    audit.record("test.theirs", namespace=other_tenant)
    admin = api_of(tenant, ("admin",))
    seen = admin.get("audit").body["results"]
    assert {event["action"] for event in seen} == {"namespace.create", "test.mine", "key.create"}
    (mine,) = admin.get("audit?action=test.mine").body["results"]
    assert mine["details"] == {"n": 1}
    assert admin.get("audit?actor_kind=key").status == 422
    assert api_of(tenant, ("read", "write")).get("audit").code == "insufficient_scope"


def test_deleting_a_golden_set_by_api_leaves_a_trace(api: Api):
    made = api.post("golden-sets", {"name": "lights"}).body
    assert api.delete(f"golden-sets/{made['id']}").status == 204
    (event,) = events("goldenset.delete")
    assert (event.actor_kind, event.target_label) == ("key", "lights")


def test_limits_and_quotas_leave_a_trace(tenant: Namespace):
    with operator():
        key, _ = keys.issue(tenant, scopes=("read",))
    call_command("api_key", "limits", key.prefix, "search=5")
    call_command("namespace", "quotas", tenant.slug, "--documents", "7")
    (change,) = events("key.change")
    assert (change.target_id, change.details) == (str(key.pk), {"limits": {"search": 5}})
    (quota,) = events("namespace.change")
    assert (quota.namespace_slug, quota.details) == (tenant.slug, {"max_documents": 7})
