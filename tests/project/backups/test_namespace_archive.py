"""A namespace as a file: into another server or beside the original, with the same answers and
without embedding anything again.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from documents.accounts.namespace_removal import owned_models, remove_namespace
from documents.archives import contents, exporting
from documents.archives.exporting import export_namespace
from documents.archives.importing import import_namespace
from documents.conversations.remembering import NewTurn, remember
from documents.intake import deferred_removals
from documents.models import (
    Document,
    Fact,
    FactStatement,
    IndexProfile,
    Namespace,
    Turn,
)
from documents.profiles import profiles
from documents.reindex import switching
from documents.verification import auditing
from evaluation.models import Feedback, Judgement
from ragsite.database.tenancy import namespace, operator

from ...client import Api
from ..test_tenant_wall import rows
from .archives import NOTES, counts_of, exported, hits
from .elsewhere import Elsewhere

pytestmark = pytest.mark.usefixtures("db")


def test_every_table_of_a_namespace_is_either_in_an_archive_or_left_out():
    owned = {model._meta.db_table for model in owned_models()}
    assert not contents.INCLUDED & contents.LEFT_OUT
    assert owned == (contents.INCLUDED | contents.LEFT_OUT) & owned
    assert owned - contents.INCLUDED == contents.LEFT_OUT & owned


def test_beside_the_original_it_answers_the_same_and_embeds_nothing(
    full: Namespace,
    api: Api,
    api_of: Callable[..., Api],
    tmp_path: Path,
    embedded: list[int],
):
    before, had = hits(api, with_ids=False), counts_of(full)
    assert all(had.values()), had
    path = exported(full, tmp_path / "tenant.ragsite")
    embedded.clear()
    done = import_namespace(path, slug="copy")
    assert embedded == []
    assert done.renumbered
    assert counts_of(done.namespace) == had
    copy = api_of(done.namespace)
    assert hits(copy, with_ids=False) == before
    assert hits(api, with_ids=False) == before
    report = auditing.verify()
    assert report.is_clean, report.findings
    originals_of_both = rows(
        "SELECT count(*) FROM documents_documentversion WHERE storage_key <> ''"
    )
    assert originals_of_both == [(6,)]
    with operator():
        copied = Namespace.objects.get(pk=done.namespace.pk)
    assert (copied.answer_prompt, copied.answer_min_relevance) == ("Be brief.", 0.25)
    assert copied.chunk_count == len(rows("SELECT 1 FROM documents_chunk")) / 2
    # Deleting the copy leaves the original whole, and the other way round.
    with operator():
        remove_namespace(copied)
    assert hits(api, with_ids=False) == before
    assert auditing.verify().is_clean


def test_its_parts_still_belong_together(
    full: Namespace, api: Api, api_of: Callable[..., Api], tmp_path: Path, work: Callable[[], int]
):
    done = import_namespace(exported(full, tmp_path / "a"), slug="copy")
    copy = done.namespace
    with namespace(copy.pk):
        harbour = Document.objects.get(source_uri="upload:harbour.md")
        assert harbour.tags == ["lights", "ports"] or harbour.tags == ["ports", "lights"]
        assert Judgement.objects.get().document_id == harbour.pk
        feedback = Feedback.objects.get()
        assert feedback.query_log_id is None
        assert feedback.selected_chunk_ids == [feedback.selected.get().chunk_id]
        assert harbour.chunks.filter(pk=feedback.selected_chunk_ids[0]).exists()
        superseded = Fact.objects.exclude(superseded_by=None)
        was = [fact.superseded_by.object for fact in superseded.select_related("superseded_by")]
        facts_of_rows = Fact.objects.filter(source="row").values_list("subject", "object")
        in_order = list(facts_of_rows.order_by("pk"))
        statements = FactStatement.objects.filter(fact__namespace=copy).count()
    with namespace(full.pk):
        superseded = Fact.objects.exclude(superseded_by=None)
        assert was == [
            one.superseded_by.object for one in superseded.select_related("superseded_by")
        ]
        facts_of_rows = Fact.objects.filter(source="row").values_list("subject", "object")
        assert in_order == list(facts_of_rows.order_by("pk"))
        assert statements == FactStatement.objects.filter(fact__namespace=full).count()
    # What is sent again is recognized: a file, a turn.
    there = api_of(copy)
    again = there.upload(("harbour.md", NOTES)).body["results"][0]
    assert again["document_id"] == str(harbour.pk)
    assert again["job_id"] is None
    with namespace(copy.pk):
        turn = Turn.objects.get()
    sent = NewTurn("session", "user", "Where is the log?", speaker="Ada", at=turn.at)
    assert [one.status for one in remember(copy.pk, [sent])] == ["duplicate"]
    found = there.get(f"documents/{harbour.pk}/original")
    assert found.status == 200
    assert api.get(f"documents/{harbour.pk}").status == 404


def test_on_another_server_ids_and_answers_stay(full: Namespace, api: Api, tmp_path: Path):
    asked = "twelve lights"
    before = [hit["chunk_id"] for hit in api.query(asked).body["results"]]
    call_command("export_namespace", full.slug, str(tmp_path / "tenant.ragsite"))
    other = Elsewhere(tmp_path / "other")
    assert other.manage("migrate").returncode == 0
    done = other.manage("import_namespace", tmp_path / "tenant.ragsite", "--as", "moved")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Its ids are those of the archive." in done.stdout
    assert "everything is as it should be" in done.stdout
    found = other.manage("search", asked, "--namespace", "moved", "-k", "10", "--json")
    results = json.loads(found.stdout)["results"]
    assert [hit["chunk_id"] for hit in results] == before
    again = other.manage("import_namespace", tmp_path / "tenant.ragsite", "--as", "moved")
    assert again.returncode == 1
    assert "already exists" in again.stderr


def test_a_namespace_that_was_deleted_here_comes_back_with_new_ids(
    full: Namespace, api: Api, api_of: Callable[..., Api], tmp_path: Path
):
    before = hits(api, with_ids=False)
    path = exported(full, tmp_path / "a")
    with operator():
        remove_namespace(Namespace.objects.get(pk=full.pk))
    done = import_namespace(path)
    assert done.renumbered
    assert done.namespace.slug == full.slug
    assert hits(api_of(done.namespace), with_ids=False) == before
    with operator():
        receipt = remove_namespace(Namespace.objects.get(pk=done.namespace.pk))
    assert receipt.state == "finished"
    assert receipt.rows["document"] == 3


def test_ids_stay_where_they_are_free(full: Namespace, api: Api, tmp_path: Path):
    before = hits(api)
    path = exported(full, tmp_path / "a")
    with operator():
        remove_namespace(Namespace.objects.get(pk=full.pk))
    rows("DELETE FROM documents_namespaceremoval RETURNING 1")  # as on another server
    done = import_namespace(path)
    assert not done.renumbered
    with namespace(full.pk):
        assert Document.objects.filter(source_uri="upload:harbour.md").exists()
    assert before


def test_documents_come_and_go_while_it_is_exported(
    full: Namespace,
    api: Api,
    api_of: Callable[..., Api],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
):
    before = hits(api, with_ids=False)
    with operator():
        ids = list(Document.objects.values_list("pk", flat=True))
        tenant = Namespace.objects.get(pk=full.pk)
    copying = exporting._originals

    def after_changes(*arguments: Any) -> Any:
        for document_id in ids:
            assert api.delete(f"documents/{document_id}").status == 200
        return copying(*arguments)

    monkeypatch.setattr(exporting, "_originals", after_changes)
    export_namespace(tenant, tmp_path / "a", release="test")
    done = import_namespace(tmp_path / "a", slug="copy")
    assert hits(api_of(done.namespace), with_ids=False) == before
    assert auditing.verify().is_clean


def test_what_was_not_indexed_yet_is_queued(
    tenant: Namespace, api: Api, api_of: Callable[..., Api], tmp_path: Path, work: Callable[[], int]
):
    api.upload(("late.md", NOTES))
    done = import_namespace(exported(tenant, tmp_path / "a"), slug="copy")
    assert done.queued == 1
    assert work() == 2
    assert api_of(done.namespace).query("twelve lights").body["results"]


def test_a_profile_of_its_own_comes_with_it(
    full: Namespace, tmp_path: Path, api: Api, api_of: Callable[..., Api], build: Callable[[], None]
):
    own = profiles.create(
        "own", namespace_id=full.pk, embedder="hashing", ann_method="exact", chunk_size=40
    )
    switching.start(full.pk, own)
    build()
    switching.switch(full.pk)
    before = hits(api, with_ids=False)
    done = import_namespace(exported(full, tmp_path / "a"), slug="copy")
    with operator():
        profile = IndexProfile.objects.get(pk=Namespace.objects.get(slug="copy").active_profile_id)
    assert (profile.name, profile.chunk_size, profile.namespace_id) == (
        "own",
        40,
        done.namespace.pk,
    )
    assert hits(api_of(done.namespace), with_ids=False) == before


def test_an_export_that_fails_leaves_no_file(
    full: Namespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def broken(*arguments: Any) -> Any:
        raise OSError("the disk is full")
        yield

    monkeypatch.setattr(exporting, "_originals", broken)
    with pytest.raises(CommandError, match="the disk is full"):
        call_command("export_namespace", full.slug, str(tmp_path / "a"))
    assert list(tmp_path.iterdir()) == []
    with deferred_removals.removals_deferred(), pytest.raises(CommandError, match="wait for it"):
        call_command("export_namespace", full.slug, str(tmp_path / "a"))
