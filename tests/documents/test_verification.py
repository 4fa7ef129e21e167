"""`manage.py verify`: silent where all is well; each broken rule is found, and mended if it can be.

Rows are broken as the owner of the tables, as no role of the service could.
"""

import json
import os
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.core.management import CommandError, call_command
from django.db import connections

from documents.ingestion import terms
from documents.intake import originals
from documents.models import Chunk, Document, DocumentVersion, Namespace
from documents.verification import auditing
from documents.verification.auditing import verify
from documents.verification.findings import Report
from ragsite.database.tenancy import namespace, operator

from ..client import Api
from .test_pdf_extractor import make_pdf, page

NOTES = "# Harbour\n\n" + "\n\n".join(
    f"## Pier {number}\n\nThe harbour master of pier {number} keeps the log, in ink — and lit."
    for number in range(12)
)


@pytest.fixture(autouse=True)
def _no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(auditing, "PAUSE_SECONDS", 0)


@pytest.fixture
def healthy(tenant: Namespace, api: Api, work: Callable[[], int]) -> Namespace:
    """A PDF, a Markdown file in two versions, a table, a failed file, a conversation and facts."""
    pdf = make_pdf([page("The kiln reaches 1200 degrees."), page("It cools for two days.")])
    api.upload(("kiln.pdf", pdf))
    api.upload(("notes.md", "# Harbour\n\nAn older text."))
    api.upload(("boats.csv", "name,length\nAda,12\nGrace,14\n"), rows_as_facts="true")
    api.upload(("broken.pdf", b"%PDF-1.7\nnothing that could be read"))
    work()
    api.upload(("notes.md", NOTES))
    turns = [
        {"role": "user", "content": "Where is the log kept?", "at": "2026-03-01T10:00:00Z"},
        {"role": "assistant", "content": "On pier 3.", "at": "2026-03-01T10:01:00Z"},
    ]
    api.post("memories", {"session": "s1", "turns": turns})
    for value in ("Oslo", "Bergen", "Bergen"):
        api.post("facts", {"subject": "Ada", "predicate": "lives in", "object": value})
    api.post("facts", {"subject": "Ada", "predicate": "likes", "object": "boats"})
    work()
    with operator():
        statuses = sorted(Document.objects.values_list("status", flat=True))
    assert statuses == ["failed", "ready", "ready", "ready", "ready"]
    return tenant


def by_owner(statement: str, *parameters: object) -> None:
    with connections["owner"].cursor() as cursor:
        cursor.execute(statement, parameters)


def document(name: str) -> Document:
    with operator():
        return Document.objects.get(source_uri__endswith=name)


def live_version(name: str) -> DocumentVersion:
    with operator():
        return DocumentVersion.objects.get(document=document(name), state="live")


def found(report: Report) -> list[str]:
    return sorted({finding.check for finding in report.findings})


def assert_found(check: str, *, what: str = "", example: object = None) -> None:
    report = verify()
    assert found(report) == [check], report.findings
    (finding,) = report.findings
    assert what in finding.what
    assert finding.count == 1
    assert finding.namespace == "tenant"
    if example is not None:
        assert finding.examples == (str(example),)


def assert_mended(check: str) -> None:
    report = verify(repair=True)
    assert report.is_clean, report.findings
    assert [finding.check for finding in report.repaired] == [check]
    assert verify().is_clean


def assert_mended_by_workers(check: str, work: Callable[[], int]) -> None:
    report = verify(repair=True)
    assert {finding.check for finding in report.findings + report.repaired} == {check}
    assert work() == 1
    again = verify()
    assert again.is_clean, again.findings


@contextmanager
def without_constraint(table: str, name: str) -> Iterator[None]:
    """Drop a constraint; at the end empty the table and restore it."""
    with connections["owner"].cursor() as cursor:
        cursor.execute(
            "SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conname = %s", [name]
        )
        (definition,) = cursor.fetchone()
        cursor.execute(f"ALTER TABLE {table} DROP CONSTRAINT {name}")
        try:
            yield
        finally:
            cursor.execute(f"TRUNCATE {table} CASCADE")
            cursor.execute(f"ALTER TABLE {table} ADD CONSTRAINT {name} {definition}")


def test_a_healthy_namespace_has_no_findings(healthy: Namespace, other_tenant: Namespace):
    report = verify()
    assert report.findings == []
    assert report.namespaces == 2
    assert report.checks > 50
    assert verify([healthy], fast=True).is_clean
    assert verify(repair=True).repaired == []


def test_work_that_waits_or_runs_is_no_fault(api: Api, tenant: Namespace):
    api.upload(("a.md", "A"), ("b.md", "B"))
    by_owner(
        "UPDATE documents_ingestjob SET state = 'running', lease_until = now() + interval '1 min' "
        "WHERE id = (SELECT id FROM documents_ingestjob LIMIT 1)"
    )
    assert verify().is_clean


# -- originals -----------------------------------------------------------------------------


def test_a_missing_original_is_found(healthy: Namespace):
    version = live_version("kiln.pdf")
    default_storage.delete(version.storage_key)
    assert_found("originals", example=version.pk)
    assert found(verify(fast=True)) == ["originals"]
    report = verify(repair=True)  # nothing can bring it back
    assert found(report) == ["originals"]
    assert not report.findings[0].can_repair


def test_a_changed_original_is_found_by_its_checksum(healthy: Namespace):
    version = live_version("notes.md")
    path = Path(default_storage.path(version.storage_key))
    path.chmod(0o600)
    path.write_bytes(path.read_bytes().replace(b"ink", b"oil"))
    assert_found("originals", example=version.pk)
    assert verify(fast=True).is_clean  # of the same size
    path.write_bytes(b"short")
    assert found(verify(fast=True)) == ["originals"]


def test_a_file_without_a_row_is_deleted_when_it_is_old(healthy: Namespace):
    key = originals.store(ContentFile(b"x"), namespace_id=healthy.pk)
    assert verify().is_clean  # its row may follow
    two_days_ago = time.time() - 2 * 86_400
    os.utime(default_storage.path(key), (two_days_ago, two_days_ago))
    assert_found("orphans", what="files belong to no version", example=key)
    assert_mended("orphans")
    assert not default_storage.exists(key)


def test_files_of_an_unknown_namespace_are_reported_and_kept(tenant: Namespace):
    key = originals.store(ContentFile(b"x"), namespace_id=uuid.uuid4())
    two_days_ago = time.time() - 2 * 86_400
    os.utime(default_storage.path(key), (two_days_ago, two_days_ago))
    (finding,) = verify().findings
    assert (finding.check, finding.namespace, finding.examples) == ("orphans", "", (key,))
    assert verify([tenant]).is_clean  # not of this namespace
    assert found(verify(repair=True)) == ["orphans"]
    assert default_storage.exists(key)  # it may be another installation's


def test_a_storage_that_fails_is_reported_and_nothing_is_deleted(
    healthy: Namespace, monkeypatch: pytest.MonkeyPatch
):
    def fail(folder: str) -> Any:
        raise OSError("no route")

    monkeypatch.setattr(default_storage._wrapped, "listdir", fail)
    report = verify(repair=True)
    assert found(report) == ["orphans"]
    assert all("could not be checked" in finding.what for finding in report.findings)


# -- states and versions -------------------------------------------------------------------


@pytest.mark.parametrize("status", ["queued", "processing"])
def test_a_stuck_document_is_queued_again(healthy: Namespace, work: Callable[[], int], status: str):
    stuck = document("notes.md")
    by_owner("UPDATE documents_document SET status = %s WHERE id = %s", status, stuck.pk)
    assert_found("states", what="no job is open", example=stuck.pk)
    assert_mended_by_workers("states", work)
    assert document("notes.md").status == "ready"


def test_a_failure_without_a_code_is_tried_again(healthy: Namespace, work: Callable[[], int]):
    by_owner("UPDATE documents_document SET error_code = '' WHERE status = 'failed'")
    assert_found("states", what="no error code", example=document("broken.pdf").pk)
    assert_mended_by_workers("states", work)
    assert document("broken.pdf").error_code


def test_an_older_version_that_is_stuck_is_cancelled(healthy: Namespace):
    by_owner("UPDATE documents_documentversion SET state = 'queued' WHERE state = 'superseded'")
    assert_found("states", what="older versions")
    assert_mended("states")


def test_a_ready_document_without_a_live_version_is_indexed_again(
    healthy: Namespace, work: Callable[[], int]
):
    notes, version = document("notes.md"), live_version("notes.md")
    by_owner("UPDATE documents_documentversion SET state = 'superseded' WHERE id = %s", version.pk)
    report = verify()
    assert "live_versions" in found(report)
    assert verify(repair=True).findings
    work()
    assert verify().is_clean
    by_owner("UPDATE documents_document SET live_version = NULL WHERE id = %s", notes.pk)
    assert_found("live_versions", example=notes.pk)
    assert_mended_by_workers("live_versions", work)
    assert document("notes.md").live_version == 2


def test_a_document_that_has_lost_its_newest_version_is_reported(healthy: Namespace):
    notes = document("notes.md")
    by_owner("UPDATE documents_document SET document_version = 9 WHERE id = %s", notes.pk)
    assert_found("live_versions", what="no newest version", example=notes.pk)


# -- passages ------------------------------------------------------------------------------


def test_a_gap_in_the_numbers_is_found_and_indexed_again(
    healthy: Namespace, work: Callable[[], int]
):
    notes = document("notes.md")
    by_owner(
        "UPDATE documents_chunk SET ordinal = 99 WHERE document_id = %s AND ordinal = 0", notes.pk
    )
    assert_found("ordinals", example=notes.pk)
    assert_mended_by_workers("ordinals", work)


def test_a_lost_passage_is_found_and_indexed_again(healthy: Namespace, work: Callable[[], int]):
    notes = document("notes.md")
    assert notes.chunks_count > 1
    by_owner(
        "DELETE FROM documents_chunk WHERE document_id = %s AND ordinal = %s",
        notes.pk,
        notes.chunks_count - 1,
    )
    assert found(verify()) == ["counters", "passage_counts"]
    report = verify(repair=True)
    assert found(report) == ["passage_counts"]
    assert "1 queued to be indexed again" in report.findings[0].repair
    work()
    assert verify().is_clean
    with namespace(healthy.pk):
        assert Chunk.objects.filter(document=notes).count() == notes.chunks_count


def test_a_span_that_does_not_slice_back_is_found(healthy: Namespace, work: Callable[[], int]):
    notes = document("notes.md")
    by_owner(
        'UPDATE documents_chunk SET start = start + 1, "end" = "end" + 1 '
        "WHERE document_id = %s AND ordinal = 0",
        notes.pk,
    )
    assert_found("spans", example=notes.pk)
    assert_mended_by_workers("spans", work)


@pytest.mark.parametrize("vector", ["[" + "0," * 255 + "0]", "[1,2,3]"])
def test_a_useless_vector_is_found(healthy: Namespace, work: Callable[[], int], vector: str):
    notes = document("notes.md")
    by_owner(
        "UPDATE documents_chunk SET embedding = %s::halfvec WHERE document_id = %s AND ordinal = 0",
        vector,
        notes.pk,
    )
    assert_found("vectors", example=notes.pk)
    assert_mended_by_workers("vectors", work)


def test_a_zero_vector_in_the_cache_is_forgotten(healthy: Namespace):
    zero = "[" + "0," * 255 + "0]"
    by_owner(
        "UPDATE documents_embeddingcache SET embedding = %s::vector "
        "WHERE id = (SELECT min(id) FROM documents_embeddingcache)",
        zero,
    )
    assert_found("vectors", what="cached")
    assert_mended("vectors")


def test_missing_words_are_found_and_indexed_again(healthy: Namespace, work: Callable[[], int]):
    notes = document("notes.md")
    by_owner(
        "DELETE FROM documents_chunkterms WHERE chunk_id = "
        "(SELECT id FROM documents_chunk WHERE document_id = %s AND ordinal = 0)",
        notes.pk,
    )
    assert_found("terms", example=notes.pk)
    assert_mended_by_workers("terms", work)


def test_passages_of_a_version_that_is_not_live_are_deleted(healthy: Namespace):
    version = live_version("notes.md")
    by_owner(
        "UPDATE documents_chunk SET version_id = (SELECT id FROM documents_documentversion "
        "  WHERE document_id = %s AND number = 1), ordinal = 0 "
        "WHERE document_id = %s AND ordinal = 0",
        version.document_id,
        version.document_id,
    )
    assert "orphans" in found(verify())
    report = verify(repair=True)
    assert [finding.check for finding in report.repaired if finding.check == "orphans"]
    assert "orphans" not in found(report)


def test_passages_under_a_profile_that_nothing_uses_are_deleted(healthy: Namespace):
    with operator():
        kept = Chunk.objects.filter(namespace=healthy).count()
    by_owner(
        "INSERT INTO documents_chunk (id, namespace_id, profile_id, document_id, version_id, "
        '  ordinal, kind, content, tokens, section, start, "end", metadata, chunk_hash, embedding) '
        "SELECT gen_random_uuid(), chunk.namespace_id, other.id, document_id, version_id, ordinal, "
        '  kind, content, tokens, section, start, "end", metadata, chunk_hash, '
        "  array_fill(0.5, ARRAY[other.dimensions])::halfvec "
        "FROM documents_chunk chunk, documents_indexprofile other "
        "WHERE other.name = 'default' AND ordinal = 0 AND document_id = %s",
        document("notes.md").pk,
    )
    report = verify()
    assert "orphans" in found(report)
    verify(repair=True)
    assert verify().is_clean
    with operator():
        assert Chunk.objects.filter(namespace=healthy).count() == kept


# -- links, leases, counts, facts ------------------------------------------------------------


def test_rows_that_belong_to_nothing_are_found_and_deleted(healthy: Namespace):
    table, name = "documents_chunkterms", "chunkterms_of_chunk"
    with without_constraint(table, name):
        by_owner(
            "UPDATE documents_chunkterms SET chunk_id = gen_random_uuid() "
            "WHERE chunk_id = (SELECT chunk_id FROM documents_chunkterms LIMIT 1)"
        )
        report = verify()
        assert found(report) == ["orphans", "terms"]
        assert any("chunk terms belong to a chunk" in each.what for each in report.findings)
        report = verify(repair=True)
        assert "orphans" not in found(report)


def test_a_link_into_another_namespace_is_found(healthy: Namespace, other_tenant: Namespace):
    table = "documents_ingestjob"
    with (
        without_constraint(table, "documents_ingestjob_document_id_same_namespace"),
        without_constraint(table, "documents_ingestjob_version_id_same_namespace"),
    ):
        by_owner(
            "UPDATE documents_ingestjob SET namespace_id = %s "
            "WHERE id = (SELECT id FROM documents_ingestjob LIMIT 1)",
            other_tenant.pk,
        )
        report = verify(repair=True)
        assert {(each.check, each.namespace, each.can_repair) for each in report.findings} == {
            ("namespaces", "other", False)
        }


def test_an_expired_lease_is_given_to_another_worker(
    api: Api, tenant: Namespace, work: Callable[[], int]
):
    api.upload(("a.md", "A"))
    by_owner(
        "UPDATE documents_ingestjob SET state = 'running', attempts = 1, "
        "lease_token = gen_random_uuid(), lease_until = now() - interval '1 hour'"
    )
    assert_found("leases")
    assert_mended("leases")
    assert work() == 1


def test_wrong_counters_are_counted_again(healthy: Namespace):
    by_owner("UPDATE documents_namespaceusage SET documents = 77, bytes = 1")
    assert_found("counters", what="documents or bytes")
    assert_mended("counters")
    by_owner("UPDATE documents_namespace SET chunk_count = chunk_count + 1 WHERE slug = 'tenant'")
    assert_found("counters", what="passages")
    assert_mended("counters")


def test_wrong_word_counts_are_counted_again(healthy: Namespace):
    verify(repair=True)
    call_words(healthy)
    by_owner(
        "UPDATE documents_termfrequency SET chunks = chunks + 1 "
        "WHERE id = (SELECT min(id) FROM documents_termfrequency)"
    )
    assert_found("term_counts", what="wrongly")
    assert_mended("term_counts")
    by_owner("DELETE FROM documents_termstatistics")
    assert_found("term_counts", what="never counted")
    assert_mended("term_counts")


def call_words(tenant: Namespace) -> None:
    """Count the words, as housekeeping does: until then they may be slightly outdated."""
    with operator():
        profile = Namespace.objects.select_related("active_profile").get(pk=tenant.pk)
    terms.recount(tenant.pk, profile.active_profile)


def test_facts_that_do_not_follow_from_their_statements_are_worked_out_again(
    healthy: Namespace, api: Api
):
    before = api.get("facts?as_of=now").body["results"]
    by_owner("UPDATE documents_fact SET certainty = 0.1 WHERE object = '\"boats\"'")
    assert_found("facts")
    assert_mended("facts")
    by_owner("DELETE FROM documents_factstatement WHERE object = '\"Bergen\"'")
    assert_found("facts")
    assert_mended("facts")
    after = {fact["object"] for fact in api.get("facts?as_of=now").body["results"]}
    assert "Oslo" in after
    assert len(before) > 1


def test_a_fact_without_a_vector_gets_one_again(healthy: Namespace):
    by_owner("DELETE FROM documents_factvector")
    assert verify().is_clean  # housekeeping has not been there yet
    by_owner(
        "UPDATE documents_fact SET believed_since = now() - interval '1 day', "
        "recorded_at = now() - interval '1 day' WHERE object = '\"boats\"'"
    )
    assert_found("vectors", what="facts have had no vector")
    assert_mended("vectors")


# -- the command ----------------------------------------------------------------------------


def run(*arguments: str) -> tuple[int, str]:
    out = StringIO()
    try:
        call_command("verify", *arguments, stdout=out, stderr=out)
    except SystemExit as exit_:
        return int(str(exit_.code)), out.getvalue()
    return 0, out.getvalue()


def test_the_command_says_what_is_wrong_and_how_it_ends(
    healthy: Namespace, other_tenant: Namespace
):
    code, printed = run()
    assert (code, printed.rstrip()[-32:]) == (0, ": everything is as it should be.")
    assert printed.startswith("2 namespaces, ")
    by_owner("UPDATE documents_namespaceusage SET documents = 77")
    code, printed = run("--namespace", "tenant")
    assert code == 1
    assert "found   * tenant" in printed
    assert "counters" in printed
    assert "run it again with --repair" in printed
    assert run("--namespace", "other")[0] == 0
    code, printed = run("--repair", "--namespace", "tenant", "--namespace", "other")
    assert code == 0
    assert "repaired  tenant" in printed
    assert "1 counted again" in printed
    assert run("--fast")[0] == 0
    with pytest.raises(CommandError, match="nobody"):
        run("--namespace", "nobody")


def test_the_report_as_json_holds_no_content(healthy: Namespace):
    notes = document("notes.md")
    by_owner("UPDATE documents_document SET status = 'queued' WHERE id = %s", notes.pk)
    code, printed = run("--json")
    report = json.loads(printed)
    assert (code, report["clean"], report["namespaces"]) == (1, False, 1)
    (finding,) = report["findings"]
    assert finding.pop("what").startswith("documents wait or are being indexed")
    assert finding == {
        "check": "states",
        "namespace": "tenant",
        "count": 1,
        "examples": [str(notes.pk)],
        "can_repair": True,
        "repair": "",
    }
    assert "harbour" not in printed.lower()


def test_what_is_found_once_only_is_not_reported(
    healthy: Namespace, monkeypatch: pytest.MonkeyPatch
):
    """A fault that has gone when it is looked at again was work in flight."""
    by_owner("UPDATE documents_namespaceusage SET documents = documents + 1")

    def finish() -> None:
        by_owner("UPDATE documents_namespaceusage SET documents = documents - 1")

    monkeypatch.setattr(auditing, "_pause", finish)
    assert verify().is_clean
