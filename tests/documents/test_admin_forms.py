"""Forms and lists of the admin: fields in words, no windows of other forms, one page marked."""

import re
from typing import Any

import pytest
from django.contrib import admin
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from documents.accounts import links
from documents.models import Document, EmbeddingUsage, Namespace
from ragsite.database.tenancy import namespace, operator

from ..client import Api


def address(name: str, *args: Any) -> str:
    return reverse(f"admin:documents_{name}", args=args)


def test_every_search_field_says_what_it_searches():
    silent = [
        str(one)
        for one in admin.site._registry.values()
        if one.search_fields and not one.search_help_text
    ]
    assert [name for name in silent if not name.startswith("auth.")] == []


def test_choices_open_no_other_forms(boss: Client, tenant: Namespace):
    for name in ("apikey_add", "namespacelink_add", "reindex_add", "namespace_add"):
        assert "related-widget-wrapper-link" not in boss.get(address(name)).text, name


def test_fields_that_cannot_be_changed_read_as_elsewhere(boss: Client, tenant: Namespace):
    with operator():
        link, _ = links.create(tenant, name="guests")
    page = boss.get(address("namespacelink_change", link.pk)).text
    assert re.search(r'<div class="readonly"><time [^>]+>just now</time>', page)
    assert ">active</span>" in page
    assert "Revoke …" in page
    with operator():
        type(link).objects.filter(pk=link.pk).update(revoked_at=timezone.now())
    page = boss.get(address("namespacelink_change", link.pk)).text
    assert ">revoked</span>" in page
    assert "Revoke …" not in page


def test_a_public_link_is_revoked_from_its_page_after_a_question(boss: Client, tenant: Namespace):
    with operator():
        link, _ = links.create(tenant, name="guests")
    posted = {"action": "revoke", "_selected_action": str(link.pk)}
    asked = boss.post(address("namespacelink_changelist"), posted)
    assert "Revoke 1 public link?" in asked.text
    confirmed = posted | {"confirmed": asked.context["fingerprint"]}
    boss.post(address("namespacelink_changelist"), confirmed)
    with operator():
        link.refresh_from_db()
    assert link.revoked_at is not None


def test_a_new_public_link_has_a_button_that_copies_it(boss: Client, tenant: Namespace):
    form = {"namespace": str(tenant.pk), "name": "guests"}
    page = boss.post(address("namespacelink_add"), form, follow=True).text
    assert re.search(r'<code id="new-link">http://[^<]+/s/[^<]+</code>', page)
    assert 'data-copy="new-link"' in page
    assert "admin_kit/copy.js" in page


def test_usage_is_by_month_with_separators(boss: Client, tenant: Namespace):
    with namespace(tenant.pk):
        EmbeddingUsage.objects.create(
            namespace=tenant, month="2026-11-01", model_identity="m", tokens=1234567, cost=0
        )
    page = boss.get(address("embeddingusage_changelist")).text
    assert "November 2026" in page
    assert "1,234,567" in page


@pytest.mark.parametrize("page", ["playground", "analytics"])
def test_the_menu_marks_the_page_itself_only(boss: Client, db: Any, page: str):
    shown = boss.get(reverse(f"admin:{page}")).text
    sidebar = shown.split('id="nav-sidebar"')[1].split("</nav>")[0]
    assert sidebar.count('aria-current="page"') == 1
    assert f'{page}/" aria-current="page"' in sidebar


def test_who_signs_in_again_after_sending_a_form_is_back_at_the_document(
    boss: Client, api: Api, tenant: Namespace
):
    """Django's sign-in leads back by GET, to an address that takes POST only."""
    api.upload(("a.md", "# A"))
    with operator():
        pk = Document.objects.get().pk
    for name in ("index_again", "tags"):
        assert boss.get(address(f"document_{name}", pk))["Location"] == address(
            "document_change", pk
        )
    assert boss.get(reverse("admin:choose_namespace"))["Location"] == reverse("admin:index")
