"""Namespaces as hubs, keys with their status, and the receipt of a deletion."""

import html
import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from documents.accounts import keys
from documents.models import ApiKey, AuditEvent, IndexProfile, Namespace, NamespaceRemoval
from evaluation.models import GoldenSet
from ragsite.database.tenancy import namespace, operator

from ..client import Api


def address(name: str, *args: Any) -> str:
    return reverse(f"admin:documents_{name}", args=args)


def page(client: Client, url: str, **query: Any) -> str:
    answer = client.get(url, query)
    assert answer.status_code == 200, answer.status_code
    return html.unescape(answer.content.decode())


def test_a_new_namespace_chooses_its_profile_and_leads_to_its_hub(
    boss: Client, hashing_profile: IndexProfile, other_tenant: Namespace
):
    with operator():
        IndexProfile.objects.create(
            name="private", namespace=other_tenant, chunk_size=60, chunk_overlap=9, dimensions=256
        )
    form = page(boss, address("namespace_add"))
    assert "DatabaseDefault" not in form
    assert ">hashing</option>" in form
    assert ">private</option>" not in form
    fields = {"slug": "acme", "active_profile": str(hashing_profile.pk)}
    moved = boss.post(address("namespace_add"), fields)
    with operator():
        made = Namespace.objects.get(slug="acme")
    assert made.active_profile_id == hashing_profile.pk
    assert moved["Location"] == address("namespace_change", made.pk)
    assert 'id="hub"' in page(boss, moved["Location"])


def test_the_hub_says_what_it_holds_and_where_to_go(
    boss: Client, api: Api, tenant: Namespace, work: Callable[[], int]
):
    api.upload(("a.md", "# A\n\nText."), ("blank.md", " \n "))
    work()
    with namespace(tenant.pk):
        GoldenSet.objects.create(namespace=tenant, name="trade")
    shown = page(boss, address("namespace_change", tenant.pk)).split('id="hub"')[1]
    shown = shown.split("<h2>Settings</h2>")[0]
    for text in ("2 documents", "1 chunk", "1 failed one", "hashing", "1 active key", "trade"):
        assert text in shown, text
    for link in re.findall(r'href="([^"]+)"', shown):
        assert boss.get(link).status_code == 200, link
    assert f'action="{reverse("admin:playground")}"' in shown
    assert "last used" in shown


def test_a_hub_costs_a_fixed_number_of_statements(
    boss: Client,
    api: Api,
    tenant: Namespace,
    work: Callable[[], int],
    django_assert_max_num_queries: Any,
):
    with django_assert_max_num_queries(27, using="operator"):
        page(boss, address("namespace_change", tenant.pk))
    api.upload(*[(f"{n}.md", f"# {n}\n\nText.") for n in range(12)])
    work()
    with django_assert_max_num_queries(27, using="operator"):
        page(boss, address("namespace_change", tenant.pk))


@pytest.fixture
def three_keys(tenant: Namespace) -> dict[str, ApiKey]:
    with operator():
        made = {
            name: keys.issue(tenant, scopes=["read"], name=name)[0]
            for name in ("living", "late", "gone")
        }
        past = timezone.now() - timedelta(days=1)
        ApiKey.objects.filter(pk=made["late"].pk).update(expires_at=past)
        ApiKey.objects.filter(pk=made["gone"].pk).update(revoked_at=past)
    return made


def test_revoked_and_expired_keys_can_be_told_apart(boss: Client, three_keys: dict[str, ApiKey]):
    listed = page(boss, address("apikey_changelist"))
    assert re.findall(r'badge-\w+">(active|expired|revoked)<', listed).count("revoked") == 1
    for status, name in (("active", "living"), ("expired", "late"), ("revoked", "gone")):
        answer = boss.get(address("apikey_changelist"), {"status": status})
        assert [key.name for key in answer.context["cl"].result_list] == [name]
        shown = page(boss, address("apikey_change", three_keys[name].pk))
        assert f">{status}</span>" in shown
        assert ("Revoke …" in shown) is (status != "revoked")


def test_a_new_key_has_a_button_that_copies_it(boss: Client, tenant: Namespace):
    form = {"namespace": str(tenant.pk), "name": "ci", "scopes": ["read"]}
    answer = boss.post(address("apikey_add"), form, follow=True)
    assert re.search(r'<code id="new-key">rs_[^<]+</code>', answer.text)
    assert 'data-copy="new-key"' in answer.text
    assert "admin_kit/copy.js" in answer.text


def test_revoking_from_the_keys_page_asks_first(
    boss: Client, onlooker: Client, three_keys: dict[str, ApiKey]
):
    key = three_keys["living"]
    assert "Revoke …" not in page(onlooker, address("apikey_change", key.pk))
    posted = {"action": "revoke", "_selected_action": str(key.pk)}
    asked = boss.post(address("apikey_changelist"), posted)
    assert "Revoke 1 API key?" in asked.content.decode()
    with operator():
        assert ApiKey.objects.get(pk=key.pk).revoked_at is None
    boss.post(address("apikey_changelist"), posted | {"confirmed": asked.context["fingerprint"]})
    with operator():
        assert ApiKey.objects.get(pk=key.pk).revoked_at is not None


def test_deleting_leads_to_a_receipt_and_is_in_the_audit_log(
    boss: Client, api: Api, tenant: Namespace, work: Callable[[], int]
):
    api.upload(("a.md", "# A\n\nText."))
    work()
    delete = address("namespace_delete", tenant.pk)
    asked = page(boss, delete)
    assert "1 document" in asked
    with operator():
        Namespace.objects.filter(pk=tenant.pk).update(chunk_count=2170)
    assert "Chunks: 2,170" in page(boss, delete)
    answer = boss.post(delete, {"post": "yes"}, follow=True)
    with operator():
        removal = NamespaceRemoval.objects.get()
        assert not Namespace.objects.filter(pk=tenant.pk).exists()
        assert AuditEvent.objects.filter(action="namespace.deleted").exists()
    assert answer.redirect_chain[-1][0] == address("namespaceremoval_change", removal.pk)
    shown = html.unescape(answer.content.decode())
    assert "1 document<" in shown
    assert "document version<" in shown
    assert "documentversion" not in shown
    assert "1 file" in shown
    assert ">finished</span>" in shown
