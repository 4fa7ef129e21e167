"""What a namespace may hold: checked when documents come in, and when chunks are published."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from io import StringIO
from typing import Any

import pytest
from django.core.files.base import ContentFile
from django.core.management import CommandError, call_command
from django.db import connections
from django.test import Client

from documents.accounts import quotas
from documents.errors import QuotaExceeded
from documents.intake import intake
from documents.models import Document, Namespace, NamespaceUsage
from evaluation.experiments.scratch import copied
from ragsite.database.tenancy import namespace, operator

from ..client import Api


@pytest.fixture
def limit(tenant: Namespace) -> Callable[..., None]:
    def change(**limits: int | None) -> None:
        with operator():
            quotas.set_quotas(tenant, limits)

    return change


def used(api: Api) -> dict[str, int]:
    body = api.get("usage").body
    return {name: body[name]["used"] for name in quotas.NAMES}


def text_of(n: int) -> tuple[str, str]:
    return f"{n}.md", f"# Number {n}\n\nThe tower has {n} stairs."


def test_documents_beyond_the_quota_are_refused_with_its_figures(
    api: Api, limit: Callable[..., None]
):
    limit(documents=2)
    assert api.upload(text_of(1), text_of(2)).status == 202
    refused = api.upload(text_of(3))
    assert (refused.status, refused.code) == (403, "quota_exceeded")
    details = refused.body["error"]["details"]
    figures = {"quota": "documents", "limit": 2, "used": 2, "asked": 1}
    assert {name: details[name] for name in figures} == figures
    assert "may hold 2 documents; it holds 2, and 1 more" in refused.body["error"]["message"]
    assert details["results"][0]["error"]["details"] == figures

    # What is here already, and a new version of it, need no room for a document.
    assert api.upload(text_of(1)).status == 202
    assert api.upload(("1.md", "# Number 1\n\nIt has one hundred stairs.")).status == 202
    document_id = api.get("documents").body["results"][0]["id"]
    assert api.delete(f"documents/{document_id}").status == 200
    assert api.upload(text_of(3)).status == 202


def test_of_a_batch_what_fits_is_taken(api: Api, limit: Callable[..., None]):
    limit(documents=1)
    answer = api.upload(text_of(1), text_of(2))
    assert answer.status == 200
    codes = [(result["error"] or {}).get("code") for result in answer.body["results"]]
    assert codes == [None, "quota_exceeded"]


def test_bytes_are_those_of_every_stored_version(api: Api, limit: Callable[..., None]):
    first, second = "# A\n\nOne.", "# A\n\nAnother text."
    api.upload(("a.md", first))
    api.upload(("a.md", second))
    size = len(first) + len(second)
    assert used(api) == {"documents": 1, "bytes": size, "chunks": 0}
    limit(bytes=size + 5)
    refused = api.upload(("b.md", "# B\n\nToo long."))
    figures = refused.body["error"]["details"]
    assert (refused.code, figures["used"], figures["asked"]) == ("quota_exceeded", size, 14)
    with namespace(Namespace.objects.using("operator").get().pk):
        document = Document.objects.get()
    assert api.delete(f"documents/{document.pk}").status == 200
    assert used(api) == {"documents": 0, "bytes": 0, "chunks": 0}


def test_uploads_at_once_cannot_exceed_a_quota(
    tenant: Namespace, limit: Callable[..., None], monkeypatch: pytest.MonkeyPatch
):
    limit(documents=3)
    # All of them find room at first: only the last look, when they have been added, counts.
    monkeypatch.setattr(quotas, "require_room", lambda *args, **asked: None)

    def take(n: int) -> str:
        name, text = text_of(n)
        try:
            intake.accept(tenant.pk, intake.Submission(ContentFile(text.encode()), file_name=name))
            return "taken"
        except QuotaExceeded as error:
            return error.code
        finally:
            connections.close_all()

    with ThreadPoolExecutor(6) as threads:
        ends = list(threads.map(take, range(12)))
    assert sorted(ends) == ["quota_exceeded"] * 9 + ["taken"] * 3
    with namespace(tenant.pk):
        assert Document.objects.count() == NamespaceUsage.objects.get().documents == 3


@pytest.mark.parametrize("looks_first", [True, False])
def test_a_document_with_too_many_chunks_fails_and_the_last_version_stays(
    api: Api,
    limit: Callable[..., None],
    work: Callable[[], int],
    monkeypatch: pytest.MonkeyPatch,
    looks_first: bool,
):
    api.upload(text_of(1))
    work()
    has = used(api)["chunks"]
    limit(chunks=has + 1)
    if not looks_first:  # as if another document had come in between
        monkeypatch.setattr(quotas, "require_room", lambda *args, **asked: None)
    long = "\n\n".join(f"## Part {n}\n\n" + f"The harbour of {n} is deep. " * 12 for n in range(9))
    api.upload(("1.md", long))
    work()
    (document,) = api.get("documents").body["results"]
    assert (document["status"], document["error"]["code"]) == ("failed", "quota_exceeded")
    assert f"may hold {has + 1} chunks; it holds {has}," in document["error"]["message"]
    assert (document["live_version"], used(api)["chunks"]) == (1, has)
    assert api.query("stairs of the tower").body["results"]

    limit(chunks=0)
    assert api.post(f"documents/{document['id']}/reindex").status == 202
    work()
    (document,) = api.get("documents").body["results"]
    assert (document["status"], document["live_version"]) == ("ready", 2)
    limit(chunks=1)  # by now it has more: what makes it smaller is still welcome
    api.upload(text_of(1))
    work()
    assert api.get("documents").body["results"][0]["status"] == "ready"


def test_the_installations_quota_holds_unless_a_namespace_has_its_own(
    api: Api, limit: Callable[..., None], settings: Any
):
    settings.QUOTAS = {**settings.QUOTAS, "documents": 1}
    api.upload(text_of(1))
    assert api.upload(text_of(2)).code == "quota_exceeded"
    assert api.get("usage").body["documents"] == {"used": 1, "quota": 1}
    limit(documents=0)
    assert api.upload(text_of(2)).status == 202
    assert api.get("usage").body["documents"] == {"used": 2, "quota": None}
    limit(documents=None)
    assert api.upload(text_of(3)).code == "quota_exceeded"


def test_usage_is_of_ones_own_namespace_and_key(
    api: Api, api_of: Callable[..., Api], other_tenant: Namespace, tenant: Namespace
):
    api.upload(text_of(1))
    body = api_of(other_tenant).get("usage").body
    assert body["namespace"] == "other"
    assert body["documents"] == body["bytes"] == body["chunks"] == {"used": 0, "quota": None}
    assert body["rate_limits"]["agent"] == 30
    assert api.get("usage").body["documents"]["used"] == 1
    with namespace(other_tenant.pk):
        assert NamespaceUsage.objects.filter(namespace=tenant).first() is None


def test_a_measured_copy_of_a_namespace_has_no_quota(
    api: Api,
    tenant: Namespace,
    limit: Callable[..., None],
    work: Callable[[], int],
    settings: Any,
):
    api.upload(text_of(1), text_of(2))
    work()
    settings.QUOTAS = {"documents": 1, "bytes": 1, "chunks": 1}
    with copied(tenant, tenant.active_profile) as copy:
        assert len(copy.own_ids) == 2
    with operator():
        assert NamespaceUsage.objects.count() == 1  # the copy's went with it


def test_quotas_are_set_and_shown_by_command_and_in_the_admin(
    api: Api, tenant: Namespace, boss: Client
):
    api.upload(text_of(1))
    out = StringIO()
    call_command("namespace", "quotas", tenant.slug, "--documents", "5", "--bytes=0", stdout=out)
    assert "documents\t1\tof 5" in out.getvalue()
    assert "chunks\t0\tno quota" in out.getvalue()
    page = f"/admin/documents/namespace/{tenant.pk}/change/"
    assert "1 document of 5" in boss.get(page).content.decode()
    form = {"slug": tenant.slug, "max_documents": "1", "max_bytes": "", "max_chunks": "7"}
    assert boss.post(page, form).status_code == 302
    assert api.upload(text_of(2)).code == "quota_exceeded"
    with operator():
        changed = Namespace.objects.get(pk=tenant.pk)
    assert (changed.max_documents, changed.max_bytes, changed.max_chunks) == (1, None, 7)
    for wrong in ("many", "-1"):
        with pytest.raises(CommandError):
            call_command("namespace", "quotas", tenant.slug, f"--documents={wrong}")
    assert boss.get("/admin/documents/namespace/add/").status_code == 200
