"""Each broken rule about passages, links, leases, counts and facts is found, and mended."""

from collections.abc import Callable

import pytest

from documents.ingestion import terms
from documents.models import Chunk, Namespace, TermStatistics
from documents.verification.auditing import verify
from ragsite.database.tenancy import namespace, operator
from tests.client import Api

from .breaking import (
    assert_found,
    assert_mended,
    assert_mended_by_workers,
    by_owner,
    document,
    found,
    live_version,
    without_constraint,
)

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
    # What is impossible is found at any time, however much has changed since.
    by_owner("UPDATE documents_namespace SET revision = revision + 1")
    by_owner(
        "UPDATE documents_termfrequency SET chunks = 1000 "
        "WHERE id = (SELECT min(id) FROM documents_termfrequency)"
    )
    assert_found("term_counts", what="more than there were")
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
    by_owner("UPDATE documents_fact SET object = '\"trains\"' WHERE object = '\"boats\"'")
    assert_found("facts")  # it says what nobody has stated, under the key of what was
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
    assert_found("vectors", what="facts have been without a vector")
    assert_mended("vectors")


def test_words_are_counted_over_all_languages(tenant: Namespace, api: Api, work: Callable[[], int]):
    api.upload(("en.md", "# Harbour\n\nThe harbour master keeps the log on pier three."))
    api.upload(("de.md", "# Hafen\n\nDer Hafenmeister führt das Buch auf dem dritten Steg."))
    work()
    call_words(tenant)
    with operator():
        known = TermStatistics.objects.get(namespace=tenant)
    assert len(known.configurations) == 2
    assert known.chunks == 2
    assert verify().is_clean
