"""The operator API: namespaces and keys by a key of the whole installation, off by default."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.core.management import CommandError, call_command
from django.test import Client

from documents import tasks
from documents.accounts import keys
from documents.models import ApiKey, AuditEvent, Namespace, OperatorKey
from ragsite.database.tenancy import operator

from ..client import Api
from ..documents.test_admin import address, run_action, run_confirmed
from .test_namespace_removal import many, rows_of  # noqa: F401  (many: a fixture)
from .test_tenant_wall import rows

pytestmark = pytest.mark.usefixtures("db")


@pytest.fixture
def operator_api(client: Client, settings: Any) -> Api:
    settings.OPERATOR_API = True
    with operator():
        _, plain = keys.issue_operator_key(name="provisioning")
    return Api(client, plain)


ROUTES = [
    ("GET", "namespaces"),
    ("POST", "namespaces"),
    ("GET", "namespaces/tenant"),
    ("PATCH", "namespaces/tenant"),
    ("DELETE", "namespaces/tenant"),
    ("GET", "namespaces/tenant/keys"),
    ("POST", "namespaces/tenant/keys"),
    ("DELETE", "namespaces/tenant/keys/00000000-0000-4000-8000-000000000000"),
    ("GET", "namespace-removals"),
    ("GET", "namespace-removals/00000000-0000-4000-8000-000000000000"),
]


@pytest.mark.parametrize(("method", "path"), ROUTES)
def test_by_default_the_routes_are_closed_to_everybody(
    method: str, path: str, tenant: Namespace, api_of: Callable[..., Api], client: Client
):
    assert django_settings.OPERATOR_API is False
    with operator():
        _, plain = keys.issue_operator_key()
    whole = api_of(tenant, ("read", "write", "admin"))
    for caller in (Api(client, plain), whole, Api(client)):
        answer = caller.call(method, path, {} if method == "POST" else None)
        assert (answer.status, answer.code) == (404, "operator_api_off")
    assert rows("SELECT last_used_at FROM documents_operatorkey") == [(None,)]  # not looked up
    assert rows_of(tenant)


@pytest.mark.parametrize(("method", "path"), ROUTES)
def test_a_namespaces_key_opens_none_of_the_routes(
    method: str, path: str, tenant: Namespace, api_of: Callable[..., Api], operator_api: Api
):
    whole = api_of(tenant, ("read", "write", "admin"))
    for caller in (whole, Api(operator_api.client), Api(operator_api.client, "rsop_x")):
        answer = caller.call(method, path, {} if method == "POST" else None)
        assert answer.status == 401
    assert rows_of(tenant)


def test_an_operator_key_opens_nothing_else(operator_api: Api, tenant: Namespace):
    for path in ("documents", "jobs", "facts", "profiles", "golden-sets"):
        answer = operator_api.get(path)
        assert (answer.status, answer.code) == (401, "invalid_key"), path
    assert operator_api.query("lights").status == 401


def test_namespaces_and_keys_live_and_die_by_api(
    operator_api: Api, client: Client, work: Callable[[], int]
):
    made = operator_api.post("namespaces", {"slug": "acme", "name": "Acme Ltd"})
    assert made.status == 201
    assert (made.body["slug"], made.body["documents"], made.body["profile"]) == (
        "acme",
        0,
        "default",
    )
    assert operator_api.post("namespaces", {"slug": "acme"}).code == "slug_taken"
    wrong = operator_api.post("namespaces", {"slug": "Not OK"})
    assert (wrong.status, wrong.code) == (422, "invalid_request")
    unknown = operator_api.post("namespaces", {"slug": "b", "profile": "nobody's"})
    assert unknown.status == 422
    issued = operator_api.post("namespaces/acme/keys", {"scopes": ["read", "write"], "name": "app"})
    assert issued.status == 201
    app = Api(client, issued.body["key"])
    assert app.get("documents").status == 200
    (listed,) = operator_api.get("namespaces/acme/keys").body["results"]
    assert listed["prefix"] == issued.body["prefix"]
    assert issued.body["key"] not in json.dumps(listed)
    assert "key" not in listed
    refused = operator_api.post("namespaces/acme/keys", {"scopes": ["operator"]})
    assert refused.status == 422
    assert "read, write, admin" in refused.body["error"]["message"]
    revoked = operator_api.delete(f"namespaces/acme/keys/{listed['id']}")
    assert revoked.status == 200
    assert revoked.body["revoked_at"]
    assert app.get("documents").code == "key_revoked"
    assert [n["slug"] for n in operator_api.get("namespaces").body["results"]] == ["acme"]
    receipt = operator_api.delete("namespaces/acme")
    assert receipt.status == 200
    assert (receipt.body["state"], receipt.body["rows"]["namespace"]) == ("finished", 1)
    again = operator_api.get(f"namespace-removals/{receipt.body['id']}")
    assert again.body == receipt.body
    assert operator_api.get("namespaces/acme").status == 404
    assert operator_api.delete("namespaces/acme").status == 404


@pytest.mark.usefixtures("many")
def test_a_large_namespace_is_answered_with_202(operator_api: Api):
    answer = operator_api.delete("namespaces/tenant")
    assert (answer.status, answer.body["state"]) == (202, "queued")
    assert operator_api.get("namespaces/tenant").body["deleting_since"]
    assert operator_api.post("namespaces/tenant/keys", {"scopes": ["read"]}).code == "being_deleted"
    tasks.remove_namespace(answer.body["id"])
    path = f"namespace-removals/{answer.body['id']}"
    assert operator_api.get(path).body["state"] == "finished"


def test_another_namespaces_key_is_not_revoked_by_its_id(
    operator_api: Api, tenant: Namespace, other_tenant: Namespace, api: Api
):
    with operator():
        key = ApiKey.objects.get(namespace=tenant)
    assert operator_api.delete(f"namespaces/other/keys/{key.pk}").status == 404
    assert api.get("documents").status == 200


def test_operator_keys_are_made_listed_and_revoked_by_command(
    client: Client, settings: Any, tenant: Namespace, capsys: pytest.CaptureFixture[str]
):
    settings.OPERATOR_API = True
    call_command("api_key", "create", "--scopes", "operator", "--name", "terraform")
    plain = capsys.readouterr().out.strip()
    assert plain.startswith("rsop_")
    assert Api(client, plain).get("namespaces").status == 200
    call_command("api_key", "list")
    assert "terraform" in capsys.readouterr().out
    call_command("api_key", "revoke", plain.split("_")[1])
    assert Api(client, plain).get("namespaces").code == "key_revoked"
    for wrong in (["--scopes", "operator,read"], ["--scopes", "operator", "--namespace", "tenant"]):
        with pytest.raises(CommandError, match="cannot be combined"):
            call_command("api_key", "create", *wrong)
    with pytest.raises(CommandError, match="--namespace"):
        call_command("api_key", "create")


def test_operator_keys_expire_and_can_be_revoked_in_the_admin(
    operator_api: Api, boss: Client, onlooker: Client
):
    with operator():
        (key,) = OperatorKey.objects.all()
    assert (
        key.secret_sha256 not in boss.get(address(OperatorKey, "change", key.pk)).content.decode()
    )
    run_action(onlooker, "revoke", [key])
    assert operator_api.get("namespaces").status == 200
    run_action(boss, "revoke", [key])  # only asks
    assert operator_api.get("namespaces").status == 200
    run_confirmed(boss, "revoke", [key])
    assert operator_api.get("namespaces").code == "key_revoked"
    with operator():
        OperatorKey.objects.update(revoked_at=None, expires_at="2020-01-01T00:00:00Z")
    assert operator_api.get("namespaces").code == "key_expired"


def test_operator_keys_have_limits_and_wrong_ones_are_slowed_down(
    operator_api: Api, client: Client, settings: Any
):
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "admin": 2}
    settings.WRONG_KEYS_PER_MINUTE = 1
    answers = [operator_api.get("namespaces") for _ in range(3)]
    assert [answer.status for answer in answers] == [200, 200, 429]
    assert answers[0].headers["RateLimit-Remaining"] == "1"
    guesser = Api(client, f"rsop_{'0' * 12}_{'x' * 43}")
    assert [guesser.get("namespaces").status for _ in range(2)] == [401, 429]


def test_the_application_role_reads_neither_operator_keys_nor_receipts():
    for table in ("documents_operatorkey", "documents_namespaceremoval"):
        (allowed,) = rows(
            "SELECT has_table_privilege('ragsite_app', %s, 'SELECT, INSERT, UPDATE, DELETE')",
            [table],
        )
        assert allowed == (False,)


def test_each_deed_is_in_the_audit_log_with_the_operator_keys_prefix(
    operator_api: Api, client: Client
):
    operator_api.post("namespaces", {"slug": "acme"})
    issued = operator_api.post("namespaces/acme/keys", {"scopes": ["read"]})
    operator_api.delete("namespaces/acme")
    prefix = operator_api.key.split("_")[1]
    with operator():
        events = list(AuditEvent.objects.filter(actor=f"operator {prefix}"))
    assert {event.action for event in events} == {
        "namespace.create",
        "key.create",
        "key.revoke",
        "namespace.delete",
        "namespace.deleted",
    }
    for event in events:
        assert issued.body["key"].split("_", 2)[2] not in repr(vars(event))


def test_a_namespace_is_renamed_and_its_keys_stay(
    operator_api: Api, tenant: Namespace, other_tenant: Namespace, api: Api
):
    api.upload(("a.md", "# A"))
    renamed = operator_api.patch("namespaces/tenant", {"slug": "legal", "name": "Legal"})
    assert renamed.status == 200
    assert (renamed.body["slug"], renamed.body["name"]) == ("legal", "Legal")
    assert renamed.body["id"] == str(tenant.pk)
    assert api.upload(("a.md", "# A")).body["namespace"] == "legal"
    assert operator_api.get("namespaces/tenant").status == 404
    assert operator_api.patch("namespaces/legal", {}).status == 200
    taken = operator_api.patch("namespaces/legal", {"slug": other_tenant.slug})
    assert (taken.status, taken.code) == (409, "slug_taken")
    assert operator_api.patch("namespaces/legal", {"slug": "No Slug"}).status == 400
    assert operator_api.patch("namespaces/legal", {"quota": 1}).status == 400
    with operator():
        keys.Namespace.objects.filter(pk=tenant.pk).update(deleting_since="2026-01-01T00:00Z")
    closed = operator_api.patch("namespaces/legal", {"slug": "tenant"})
    assert (closed.status, closed.code) == (409, "being_deleted")


def test_the_command_renames_and_says_why_not(
    tenant: Namespace, other_tenant: Namespace, capsys: pytest.CaptureFixture[str]
):
    call_command("namespace", "rename", "tenant", "legal", "--name", "Legal")
    assert capsys.readouterr().out == "Namespace tenant is now legal.\n"
    with pytest.raises(CommandError, match="already exists"):
        call_command("namespace", "rename", "legal", other_tenant.slug)
    with pytest.raises(CommandError, match="lowercase"):
        call_command("namespace", "rename", "legal", "Not A Slug")
    with operator():
        assert AuditEvent.objects.get(action="namespace.rename").details == {
            "from": "tenant",
            "to": "legal",
        }
