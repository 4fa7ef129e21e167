"""The operator's pages: every one opens, actions do what they say, and only for those who may."""

import hashlib
import html
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import pytest
from django.conf import settings as django_settings
from django.contrib import admin
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from documents.ingestion import bulk_removal
from documents.models import (
    ApiKey,
    Chunk,
    Document,
    DocumentRemoval,
    Fact,
    IndexProfile,
    IngestJob,
    Namespace,
)
from ragsite.database.tenancy import operator

from ..client import Api
from ..conftest import logged_in

HARBOUR = "# Harbour\n\nThe harbour has <b>twelve</b> lights.\n"
OURS = [Namespace, ApiKey, Document, Chunk, Fact, IngestJob, IndexProfile]


@pytest.fixture
def filled(api: Api, tenant: Namespace, work: Callable[[], int]) -> Api:
    """A row in every table: a ready document, a failed one and one that waits."""
    api.upload(("harbour.md", HARBOUR), ("blank.md", " \n "))
    assert work() == 2
    api.upload(("later.md", "# Later\n\nLater."))
    with operator():
        Fact.objects.create(
            namespace=tenant,
            subject="North light",
            predicate="height",
            object="<i>12 m</i>",
            source="stated",
        )
    return api


def address(model: type, page: str = "changelist", *args: object) -> str:
    meta = model._meta  # type: ignore[attr-defined]
    return reverse(f"admin:{meta.app_label}_{meta.model_name}_{page}", args=args)


def rows(model: type, **wanted: object) -> list[Any]:
    with operator():
        return list(model.objects.filter(**wanted))  # type: ignore[attr-defined]


def run_action(client: Client, action: str, selected: list[Any]) -> Any:
    fields = {"action": action, "_selected_action": [str(row.pk) for row in selected]}
    return client.post(address(type(selected[0])), fields, follow=True)


def run_confirmed(client: Client, action: str, selected: list[Any]) -> Any:
    """An action that asks first: answer yes."""
    asked = run_action(client, action, selected)
    fields = {"action": action, "_selected_action": [str(row.pk) for row in selected]}
    fields["confirmed"] = asked.context["fingerprint"]
    return client.post(address(type(selected[0])), fields, follow=True)


def stored() -> list[Path]:
    folder = Path(django_settings.HOME) / "storage"
    return [path for path in folder.rglob("*") if path.is_file()]


# -- pages -----------------------------------------------------------------------------------


def test_the_admin_wants_a_login(db: None):
    client = Client()
    answer = client.get("/admin/")
    assert (answer.status_code, answer.url) == (302, "/admin/login/?next=/admin/")
    with operator():
        User.objects.create_superuser("boss", password="long enough")
    form = {"username": "boss", "password": "long enough", "next": "/admin/"}
    assert client.post("/admin/login/", {**form, "password": "wrong"}).status_code == 200
    assert client.get("/admin/").status_code == 302
    assert client.post("/admin/login/", form).url == "/admin/"
    assert client.get("/admin/").status_code == 200


@pytest.mark.usefixtures("filled")
def test_every_list_and_every_row_opens(boss: Client):
    assert boss.get("/admin/").status_code == 200
    assert set(OURS) <= set(admin.site._registry)
    for model in admin.site._registry:
        assert boss.get(address(model)).status_code == 200, model
    for model in OURS:
        some = rows(model)
        assert some, model
        for row in some:
            page = boss.get(address(model, "change", row.pk))
            assert page.status_code == 200, row
            assert str(row.pk) in address(model, "change", row.pk)


@pytest.mark.usefixtures("filled")
def test_lists_can_be_searched_and_filtered(boss: Client):
    def found(model: type, query: str) -> int:
        return boss.get(f"{address(model)}?{query}").context["cl"].result_count

    (ready,) = rows(Document, status="ready")
    assert found(Document, "q=harbour") == 1
    assert found(Document, "status__exact=failed") == 1
    assert found(Document, f"q={ready.pk}") == 1
    assert found(Chunk, f"document__id__exact={ready.pk}") == 1
    assert found(Chunk, "q=twelve") == 1
    assert found(Fact, "q=north") == 1
    assert found(Fact, "source__exact=row") == 0
    assert found(IngestJob, "state__exact=queued") == 1
    assert found(ApiKey, "q=nobody") == 0


@pytest.mark.usefixtures("filled")
def test_a_document_shows_its_versions_and_leads_to_its_chunks(boss: Client):
    (document,) = rows(Document, status="ready")
    here = address(Document, "change", document.pk)
    page = boss.get(here)
    assert "text/markdown" in page.text
    link = re.search(r'href="([^"]+document__id__exact[^"]+)">1</a>', page.text)
    assert link
    listed = boss.get(urljoin(here, html.unescape(link[1])))
    assert listed.context["cl"].result_count == 1
    assert "&lt;b&gt;twelve" in listed.text  # what people upload is never markup here


@pytest.mark.usefixtures("filled")
def test_what_the_service_writes_cannot_be_written_by_hand(boss: Client):
    for model in (Document, Chunk, Fact, IngestJob, IndexProfile):
        change = address(model, "change", rows(model)[0].pk)
        can_be_made = model in (Fact, IndexProfile)  # and never changed afterwards
        assert boss.get(address(model, "add")).status_code == (200 if can_be_made else 403), model
        assert boss.post(change, {"title": "x"}).status_code == 403, model
    for model in set(OURS) - {Namespace}:  # that one goes with all it holds, after a question
        delete = address(model, "delete", rows(model)[0].pk)
        assert boss.post(delete, {"post": "yes"}).status_code == 403, model


# -- namespaces and keys -----------------------------------------------------------------------


def test_a_namespace_can_be_made_and_renamed(boss: Client):
    assert "inner hyphens" in boss.post(address(Namespace, "add"), {"slug": "Not OK"}).text
    assert boss.post(address(Namespace, "add"), {"slug": "acme", "name": "A"}).status_code == 302
    (made,) = rows(Namespace)
    assert (made.slug, made.name) == ("acme", "A")
    boss.post(address(Namespace, "change", made.pk), {"slug": "acme", "name": "B"})
    assert rows(Namespace)[0].name == "B"


def test_a_new_key_is_shown_exactly_once_and_kept_as_a_hash(
    tenant: Namespace, boss: Client, client: Client
):
    form = {"namespace": str(tenant.pk), "name": "ci", "scopes": ["read"]}
    answer = boss.post(address(ApiKey, "add"), form, follow=True)
    shown = re.findall(r"rs_[0-9a-f]{12}_[A-Za-z0-9_-]{43}", answer.text)
    secret = shown[0].split("_", 2)[2]
    assert answer.text.count(secret) == 1
    (key,) = rows(ApiKey)
    assert (key.name, key.scopes, key.namespace_id) == ("ci", ["read"], tenant.pk)
    assert key.secret_sha256 == hashlib.sha256(secret.encode()).hexdigest()
    assert Api(client, shown[0]).get("documents").status == 200

    for page in (address(ApiKey), address(ApiKey, "change", key.pk), "/admin/"):
        assert secret not in boss.get(page).text
    (entry,) = rows(LogEntry)
    assert secret not in str(vars(entry))
    assert not [row for row in rows(Session) if secret in str(row.get_decoded())]


def test_a_key_without_scopes_or_namespace_is_not_made(tenant: Namespace, boss: Client):
    for form in ({"namespace": str(tenant.pk)}, {"scopes": ["read"]}):
        assert boss.post(address(ApiKey, "add"), form).status_code == 200
    assert rows(ApiKey) == []


def test_revoked_keys_stop_working_and_stay_on_record(api: Api, boss: Client):
    (key,) = rows(ApiKey)
    assert api.get("documents").status == 200
    assert "1 key revoked" in run_confirmed(boss, "revoke", [key]).text
    assert api.get("documents").code == "key_revoked"
    first = rows(ApiKey)[0].revoked_at
    assert first <= timezone.now()
    assert "0 keys revoked" in run_confirmed(boss, "revoke", [key]).text
    assert rows(ApiKey)[0].revoked_at == first


# -- actions --------------------------------------------------------------------------------------


def test_documents_are_indexed_again_on_request(filled: Api, boss: Client, work: Callable[[], int]):
    work()
    settled = [*rows(Document, status="ready"), *rows(Document, status="failed")]
    assert len(settled) == 3
    assert "Index 3 documents again?" in run_action(boss, "index_again", settled).text
    assert "3 documents queued" in run_confirmed(boss, "index_again", settled).text
    assert len(rows(Document, status="queued")) == 3
    assert work() == 3
    assert len(rows(Document, status="ready")) == 2


def test_documents_of_several_tenants_are_removed_with_everything(
    filled: Api, boss: Client, api_of: Callable[..., Api], other_tenant: Namespace
):
    api_of(other_tenant).upload(("harbour.md", HARBOUR))
    everything = rows(Document)
    assert len(everything) == 4
    assert "Deleting 4 documents" in run_confirmed(boss, "remove", everything).text
    assert len(rows(Document)) == 4
    while bulk_removal.work():
        pass
    removals = rows(DocumentRemoval)
    assert {removal.state for removal in removals} == {"done"}
    assert sum(removal.removed for removal in removals) == 4
    assert sum(removal.chunks for removal in removals) == 1
    assert sum(removal.files for removal in removals) == 4
    for model in (Document, Chunk, IngestJob):
        assert rows(model) == []
    assert stored() == []


def test_jobs_are_cancelled_and_tried_again(filled: Api, boss: Client, work: Callable[[], int]):
    assert "1 job cancelled" in run_confirmed(boss, "cancel", rows(IngestJob)).text
    assert work() == 0
    (cancelled,) = rows(IngestJob, state="cancelled")
    assert "1 document queued" in run_action(boss, "try_again", [cancelled]).text
    assert work() == 1
    assert len(rows(Document, status="ready")) == 2


@pytest.mark.usefixtures("filled")
@pytest.mark.parametrize(
    ("model", "action"),
    [
        (Document, "remove"),
        (Document, "index_again"),
        (IngestJob, "cancel"),
        (IngestJob, "try_again"),
        (ApiKey, "revoke"),
    ],
)
def test_whoever_may_only_look_cannot_run_an_action(
    model: type, action: str, onlooker: Client, boss: Client
):
    before = {kind: [vars(row) | {"_state": 0} for row in rows(kind)] for kind in OURS}
    page = onlooker.get(address(model))
    assert page.status_code == 200
    assert f'value="{action}"' not in page.text
    assert f'value="{action}"' in boss.get(address(model)).text
    run_action(onlooker, action, rows(model))
    assert {kind: [vars(row) | {"_state": 0} for row in rows(kind)] for kind in OURS} == before
    assert onlooker.get(address(ApiKey, "add")).status_code == 403


@pytest.mark.usefixtures("filled")
def test_staff_without_permissions_see_nothing(db: None):
    with operator():
        client = logged_in(User.objects.create_user("new", password="long enough", is_staff=True))
    assert client.get("/admin/").status_code == 200
    for model in OURS:
        assert client.get(address(model)).status_code == 403, model


def test_a_login_opens_nothing_of_the_api(boss: Client):
    assert boss.get("/api/v1/documents").status_code == 401
