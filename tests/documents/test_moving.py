"""Moving a document to another namespace: whole, traced, and never through the wall."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as django_settings

from documents.accounts import quotas
from documents.errors import IngestError
from documents.ingestion import editing, moving, removal
from documents.ingestion.moving import CannotMove, DocumentBusy
from documents.intake.originals import OriginalLost
from documents.models import AuditEvent, Chunk, Document, DocumentVersion, Fact, Namespace
from ragsite.database.tenancy import namespace, operator

from ..client import Api

pytestmark = pytest.mark.usefixtures("db")

TEXT = "---\ntags: [own]\n---\n# Harbour\n\nThe harbour has twelve lights.\n"


def held(tenant: Namespace, model: Any, **wanted: Any) -> list[Any]:
    with namespace(tenant.pk):
        return list(model.objects.filter(**wanted))


def files(tenant: Namespace) -> list[Path]:
    folder = Path(django_settings.HOME) / "storage" / "uploads" / str(tenant.pk)
    return [path for path in folder.rglob("*") if path.is_file()]


@pytest.fixture
def document(api: Api, tenant: Namespace, work: Callable[[], int]) -> Document:
    api.upload(("harbour.md", TEXT), tags="coast")
    assert work() == 1
    return held(tenant, Document)[0]


def test_content_description_and_file_are_on_the_other_side_and_nowhere_else(
    document: Document, tenant: Namespace, other_tenant: Namespace, work: Callable[[], int]
):
    editing.amend(tenant.pk, document.pk, {"tags": ["mine"], "metadata": {"area": "port"}})
    receipt = moving.move(tenant.pk, document.pk, to=other_tenant.pk)
    assert work() == 1
    (moved,) = held(other_tenant, Document)
    assert moved.pk == receipt.document_id != document.pk
    assert (moved.status, moved.source_uri, moved.title) == (
        "ready",
        document.source_uri,
        "Harbour",
    )
    assert moved.tags == ["mine"]  # set by hand, so the file's own do not come back
    assert moved.metadata["area"] == "port"
    assert len(held(other_tenant, Chunk)) == 1
    assert (receipt.removed.versions, receipt.removed.chunks, receipt.removed.files) == (1, 1, 1)
    for model in (Document, DocumentVersion, Chunk, Fact):
        assert held(tenant, model) == []
    assert (len(files(tenant)), len(files(other_tenant))) == (0, 1)


def test_both_namespaces_have_it_in_their_audit_log_without_each_others_name(
    document: Document, tenant: Namespace, other_tenant: Namespace
):
    moving.move(tenant.pk, document.pk, to=other_tenant.pk)
    (out,) = held(tenant, AuditEvent, action="document.move_out")
    (into,) = held(other_tenant, AuditEvent, action="document.move_in")
    assert (out.target_id, out.details) == (str(document.pk), {"to": str(other_tenant.pk)})
    assert into.details == {"from": str(tenant.pk)}
    assert other_tenant.slug not in json.dumps(out.details) + out.target_label
    assert tenant.slug not in json.dumps(into.details)


def test_a_document_of_another_namespace_cannot_be_moved(
    document: Document, tenant: Namespace, other_tenant: Namespace
):
    with pytest.raises(Document.DoesNotExist):
        moving.move(other_tenant.pk, document.pk, to=tenant.pk)
    assert len(held(tenant, Document)) == 1
    assert held(other_tenant, Document) == []


def test_a_document_that_is_being_indexed_stays(
    api: Api, tenant: Namespace, other_tenant: Namespace
):
    api.upload(("later.md", TEXT))
    (waiting,) = held(tenant, Document)
    with pytest.raises(DocumentBusy):
        moving.move(tenant.pk, waiting.pk, to=other_tenant.pk)
    assert held(other_tenant, Document) == []


def test_a_document_that_changes_meanwhile_stays_and_its_copy_goes(
    document: Document,
    tenant: Namespace,
    other_tenant: Namespace,
    monkeypatch: pytest.MonkeyPatch,
):
    accept = moving.intake.accept

    def slow(*arguments: Any) -> Any:
        editing.amend(tenant.pk, document.pk, {"tags": ["new"]})
        return accept(*arguments)

    monkeypatch.setattr(moving.intake, "accept", slow)
    with pytest.raises(DocumentBusy):
        moving.move(tenant.pk, document.pk, to=other_tenant.pk)
    assert held(tenant, Document)[0].tags == ["new"]
    assert held(other_tenant, Document) == []
    assert files(other_tenant) == []
    assert len(files(tenant)) == 1


def test_a_document_of_the_same_source_is_not_replaced(
    document: Document,
    tenant: Namespace,
    other_tenant: Namespace,
    api_of: Callable[..., Api],
    monkeypatch: pytest.MonkeyPatch,
):
    theirs = api_of(other_tenant)
    theirs.upload(("harbour.md", "# Their own"))
    with pytest.raises(CannotMove, match="already"):
        moving.move(tenant.pk, document.pk, to=other_tenant.pk)
    # The same if it arrives after the check.
    monkeypatch.setattr(moving, "_require_possible", lambda document, to: None)
    with pytest.raises(CannotMove, match="already"):
        moving.move(tenant.pk, document.pk, to=other_tenant.pk)
    (kept,) = held(other_tenant, Document)
    assert kept.document_version == 1
    assert len(held(tenant, Document)) == 1


def test_nothing_is_lost_if_the_other_side_refuses(
    document: Document, tenant: Namespace, other_tenant: Namespace
):
    with operator():
        quotas.set_quotas(other_tenant, {"bytes": 1})
    with pytest.raises(IngestError):
        moving.move(tenant.pk, document.pk, to=other_tenant.pk)
    with pytest.raises(CannotMove):
        moving.move(tenant.pk, document.pk, to=tenant.pk)
    (path,) = files(tenant)
    assert len(held(tenant, Chunk)) == 1
    with operator():
        quotas.set_quotas(other_tenant, {"bytes": 0})
        Namespace.objects.filter(pk=other_tenant.pk).update(deleting_since="2026-01-01T00:00Z")
    with pytest.raises(CannotMove):
        moving.move(tenant.pk, document.pk, to=other_tenant.pk)
    with operator():
        Namespace.objects.filter(pk=other_tenant.pk).update(deleting_since=None)
    path.unlink()
    with pytest.raises(OriginalLost):
        moving.move(tenant.pk, document.pk, to=other_tenant.pk)
    assert held(other_tenant, Document) == []


def test_a_check_that_fails_keeps_the_document(document: Document, tenant: Namespace):
    def refuse(locked: Document) -> None:
        assert locked.pk == document.pk
        raise DocumentBusy("Not now.")

    with pytest.raises(DocumentBusy):
        removal.remove(tenant.pk, document.pk, check=refuse)
    assert len(held(tenant, Chunk)) == 1
