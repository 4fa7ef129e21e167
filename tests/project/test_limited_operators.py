"""An operator who was given one namespace sees nothing of another, on any page of the admin."""

import re
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib import admin
from django.contrib.auth.models import Permission, User
from django.db.models import ForeignKey
from django.test import Client
from django.urls import URLPattern, reverse

from documents.accounts import people
from documents.admin.visible import LimitedToNamespaces
from documents.models import AuditEvent, Document, Namespace, NamespaceAccess
from ragsite.database.tenancy import operator

from ..client import Api
from ..conftest import logged_in
from .test_tenant_wall import full_tables  # noqa: F401

STANDARD = ("changelist", "add", "change", "delete", "history")
# Rows of the installation; closed to operators who are limited.
OF_THE_INSTALLATION = {"auth.User", "auth.Group", "documents.OperatorKey"}


@pytest.fixture
def limited(other_tenant: Namespace) -> Client:
    """Staff with every permission, who was given the namespace `other` only."""
    with operator():
        user = User.objects.create_user("limited", password="long enough", is_staff=True)
        user.user_permissions.set(Permission.objects.exclude(codename="see_every_namespace"))
        NamespaceAccess.objects.create(user=user, namespace=other_tenant)
    return logged_in(user)


def address(model: Any, page: str, *args: object) -> str:
    return reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_{page}", args=args)


def registered() -> list[tuple[Any, admin.ModelAdmin]]:
    return list(admin.site._registry.items())


def foreign_ids(model: Any, tenant: Namespace) -> list[str]:
    """The ids of the tenant's rows."""
    with operator():
        if model is Namespace:
            return [str(tenant.pk)]
        names = {field.name for field in model._meta.get_fields()}
        column = "removed_namespace" if "removed_namespace" in names else "namespace"
        if column not in names:
            return [str(pk) for pk in model.objects.values_list("pk", flat=True)]
        rows = model.objects.filter(**{column: tenant.pk})
        return [str(pk) for pk in rows.values_list("pk", flat=True)]


def leaks(text: str, ids: list[str]) -> list[str]:
    return [pk for pk in ids if len(pk) > 8 and pk in text]


def is_hidden(answer: Any) -> bool:
    return answer.status_code in (302, 403, 404, 405)


def own_pages(model_admin: admin.ModelAdmin) -> Iterator[URLPattern]:
    """Pages besides those that every ModelAdmin has."""
    stem = f"{model_admin.opts.app_label}_{model_admin.opts.model_name}_"
    for pattern in model_admin.get_urls():
        name = getattr(pattern, "name", None)
        if name and name.removeprefix(stem) not in STANDARD:
            yield pattern


def test_every_model_of_the_admin_is_limited():
    assert not [model for model, it in registered() if not isinstance(it, LimitedToNamespaces)]


@pytest.mark.usefixtures("full_tables")
def test_lists_show_nothing_of_another_namespace(tenant: Namespace, limited: Client, boss: Client):
    shown_to_boss = 0
    for model, _ in registered():
        ids = foreign_ids(model, tenant)
        page = address(model, "changelist")
        shown_to_boss += len(leaks(boss.get(page).text, ids))
        answer = limited.get(page)
        if model._meta.label in OF_THE_INSTALLATION:
            assert answer.status_code == 403, model
            continue
        assert answer.status_code == 200, model
        assert not leaks(answer.text, [*ids, str(tenant.pk)]), model
        found = answer.context["cl"]
        assert not [row for row in found.result_list if str(row.pk) in ids], model
        if hasattr(model, "namespace"):
            filtered = limited.get(page, {"namespace__id__exact": str(tenant.pk)})
            assert filtered.status_code in (200, 302), model
            assert not leaks(filtered.text, ids), model
    assert shown_to_boss > 20  # else this proves nothing


@pytest.mark.usefixtures("full_tables")
def test_rows_of_another_namespace_do_not_exist(tenant: Namespace, limited: Client, boss: Client):
    opened = 0
    for model, _ in registered():
        for pk in foreign_ids(model, tenant)[:2]:
            for page in ("change", "history", "delete"):
                there = address(model, page, pk)
                assert is_hidden(limited.get(there)), there
                assert is_hidden(limited.post(there, {"post": "yes"})), there
            opened += boss.get(address(model, "change", pk)).status_code == 200
            assert foreign_ids(model, tenant), model
    assert opened > 20


@pytest.mark.usefixtures("full_tables")
def test_pages_of_our_own_show_nothing_of_another_namespace(tenant: Namespace, limited: Client):
    visited = 0
    asked = {"namespace": tenant.slug, "q": "harbour lights"}
    for model, model_admin in registered():
        ids = foreign_ids(model, tenant)
        for pattern in own_pages(model_admin):
            converters = pattern.pattern.converters
            first = ids[0] if ids else "0"
            kwargs = {
                name: first if name in ("pk", "object_id") else "recall" for name in converters
            }
            there = reverse(f"admin:{pattern.name}", kwargs=kwargs)
            for answer in (
                limited.get(there, {"a": first, "b": first, **asked}),
                limited.post(there, {"confirmed": "x", **asked}),
            ):
                visited += 1
                if set(kwargs) & {"pk", "object_id"}:
                    assert is_hidden(answer), (there, answer.status_code)
                else:
                    # The first id may be in links to the same page with other options.
                    assert not leaks(answer.text, [*ids[1:], str(tenant.pk)]), there
                    assert "harbour has twelve" not in answer.text, there
    assert visited > 4


@pytest.mark.usefixtures("full_tables")
def test_choices_and_autocomplete_offer_nothing_of_another_namespace(
    tenant: Namespace, limited: Client, boss: Client
):
    asked = 0
    for model, model_admin in registered():
        form = limited.get(address(model, "add"))
        assert str(tenant.pk) not in form.text, model
        for field in model._meta.get_fields():
            if not isinstance(field, ForeignKey) or not model_admin.get_autocomplete_fields(None):
                continue
            asked += 1
            wanted = {
                "app_label": model._meta.app_label,
                "model_name": model._meta.model_name,
                "field_name": field.name,
            }
            answer = limited.get(reverse("admin:autocomplete"), wanted)
            assert not leaks(answer.text, foreign_ids(field.related_model, tenant)), wanted
    wanted = {"app_label": "evaluation", "model_name": "judgement", "field_name": "document"}
    documents = foreign_ids(Document, tenant)
    assert leaks(boss.get(reverse("admin:autocomplete"), wanted).text, documents)
    assert not leaks(limited.get(reverse("admin:autocomplete"), wanted).text, documents)


@pytest.mark.usefixtures("full_tables")
def test_actions_reach_nothing_of_another_namespace(tenant: Namespace, limited: Client):
    (document, *_) = foreign_ids(Document, tenant)
    fields = {"action": "index_again", "_selected_action": [document]}
    with operator():
        before = AuditEvent.objects.filter(action="document.reindex").count()
    limited.post(address(Document, "changelist"), fields)
    with operator():
        assert AuditEvent.objects.filter(action="document.reindex").count() == before


@pytest.mark.usefixtures("full_tables")
def test_the_index_shows_nothing_of_another_namespace(tenant: Namespace, limited: Client):
    page = limited.get(reverse("admin:index"))
    assert page.status_code == 200
    assert str(tenant.pk) not in page.text
    assert "auth/user" not in page.text


def test_a_superuser_chooses_one_namespace_or_all(
    boss: Client, tenant: Namespace, other_tenant: Namespace
):
    choose, listed = reverse("admin:choose_namespace"), address(Namespace, "changelist")
    assert boss.get(listed).context["cl"].result_count == 2
    answer = boss.post(choose, {"namespace": str(tenant.pk), "next": listed})
    assert answer.url == listed
    page = boss.get(listed)
    assert [row.pk for row in page.context["cl"].result_list] == [tenant.pk]
    assert re.search(rf'value="{tenant.pk}" selected', page.text)
    with operator():
        assert not AuditEvent.objects.filter(action="namespace.view_all").exists()
    boss.post(choose, {"namespace": "", "next": "https://elsewhere.example/"})
    assert boss.get(listed).context["cl"].result_count == 2
    with operator():
        assert AuditEvent.objects.get(action="namespace.view_all").actor == "boss"


def test_a_row_outside_the_chosen_namespace_says_what_to_choose(
    boss: Client, limited: Client, tenant: Namespace, other_tenant: Namespace, api: Api
):
    api.upload(("a.md", "# A\n\nText."))
    with operator():
        document = Document.objects.get()
        job = document.jobs.get()
    pages = [address(Document, "change", document.pk), address(Namespace, "change", tenant.pk)]
    pages.append(address(type(job), "change", job.pk))
    assert all(boss.get(page).status_code == 200 for page in pages)
    boss.post(reverse("admin:choose_namespace"), {"namespace": str(other_tenant.pk)})
    for page in pages:
        answer = boss.get(page)
        assert answer.status_code == 404
        assert f"Switch to {tenant.slug} and open it" in answer.text
        assert "Show all namespaces and open it" in answer.text
    nothing = boss.get(address(Document, "change", uuid.uuid4()), follow=True)
    assert "in another namespace" not in nothing.text
    choice = {"namespace": str(tenant.pk), "next": pages[0], "stay": "1"}
    opened = boss.post(reverse("admin:choose_namespace"), choice, follow=True)
    assert opened.redirect_chain == [(pages[0], 302)]
    assert opened.status_code == 200
    limited.post(reverse("admin:choose_namespace"), {"namespace": str(other_tenant.pk)})
    for page in pages:  # not even that it exists
        assert "in another namespace" not in limited.get(page, follow=True).text


def test_the_choice_never_leads_out_of_what_was_given(
    limited: Client, tenant: Namespace, other_tenant: Namespace
):
    choose, listed = reverse("admin:choose_namespace"), address(Namespace, "changelist")
    for wanted in (str(tenant.pk), "", "nonsense"):
        for stay in ("", "1"):
            form = {"namespace": wanted, "next": "//elsewhere.example/", "stay": stay}
            assert limited.post(choose, form).url == reverse("admin:index")
        assert [row.pk for row in limited.get(listed).context["cl"].result_list] == [
            other_tenant.pk
        ]
    # A form that is sent again after signing in arrives as GET.
    assert limited.get(choose).url == reverse("admin:index")


def test_staff_who_were_given_nothing_see_nothing(tenant: Namespace):
    with operator():
        user = User.objects.create_user("new", is_staff=True)
        user.user_permissions.set(Permission.objects.exclude(codename="see_every_namespace"))
    client = logged_in(user)
    assert client.get(address(Namespace, "changelist")).context["cl"].result_count == 0
    with operator():
        user.user_permissions.add(Permission.objects.get(codename="see_every_namespace"))
    assert client.get(address(Namespace, "changelist")).context["cl"].result_count == 1
    assert client.get(address(User, "changelist")).status_code == 200


def test_only_superusers_give_namespaces_and_rights(
    boss: Client, tenant: Namespace, onlooker: Client
):
    with operator():
        ada = User.objects.create_user("ada", password="long enough")
        looker = User.objects.get(username="onlooker")
        looker.user_permissions.add(Permission.objects.get(codename="change_user"))
    page = address(User, "change", ada.pk)
    form = {
        "username": "ada",
        "is_active": "on",
        "date_joined_0": "2026-01-01",
        "date_joined_1": "00:00:00",
        "namespace_access-TOTAL_FORMS": "1",
        "namespace_access-INITIAL_FORMS": "0",
        "namespace_access-0-namespace": str(tenant.pk),
        "namespace_access-0-user": str(ada.pk),
    }
    assert onlooker.post(page, {**form, "is_superuser": "on", "is_staff": "on"}).status_code == 302
    with operator():
        ada.refresh_from_db()
        assert not ada.is_superuser
        assert not ada.is_staff
        assert people.allowed_namespaces(ada) == frozenset()
        the_boss = User.objects.get(username="boss")
    assert onlooker.post(address(User, "change", the_boss.pk), form).status_code == 403
    assert boss.post(page, form).status_code == 302
    assert people.allowed_namespaces(ada) == frozenset({tenant.pk})
    assert "tenant" in boss.get(address(User, "changelist")).text


def test_people_without_staff_status_ask_in_what_they_were_given(
    client: Client, api: Api, tenant: Namespace, other_tenant: Namespace
):
    with operator():
        ada = User.objects.create_user("ada", password="long enough")
        User.objects.create_user("bob", password="long enough")
        NamespaceAccess.objects.create(user=ada, namespace=tenant)
    login = reverse("admin:login")
    form = {"username": "ada", "password": "long enough", "next": "/admin/"}
    assert client.post(login, {**form, "username": "bob"}).status_code == 200  # given nothing
    answer = client.post(login, form)
    assert (answer.status_code, answer.url) == (302, "/")
    page = client.get("/")
    assert [each.slug for each in page.context["namespaces"]] == ["tenant"]
    refused = client.post(
        "/ask/answer", {"namespace": "other", "query": "Who?"}, content_type="application/json"
    )
    assert refused.status_code == 404
    assert client.get("/admin/").status_code == 302
    client.post(reverse("admin:logout"))
    assert not client.session.keys()
