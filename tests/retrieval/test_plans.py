"""Query plans, pinned: an index can never silently go unused."""

import uuid
from collections.abc import Callable

import pytest
from django.db import connection, connections

from documents.models import IndexProfile, Namespace
from ragsite.database.tenancy import namespace, operator
from retrieval.candidates import bm25, dense, explain, lexical
from retrieval.candidates.scope import SearchScope, resolve, whole
from retrieval.requests import Filters
from retrieval.search_context import SearchedIndex

ROWS = 3000
DIMENSIONS = 384


def owner(sql: str, parameters: list[object] | None = None) -> None:
    with connections["owner"].cursor() as cursor:
        cursor.execute(sql, parameters)


@pytest.fixture
def crowd(real_tenant: Namespace) -> tuple[Namespace, IndexProfile]:
    """One document with many chunks, made in SQL: content does not matter here, numbers do."""
    document_id, version_id = uuid.uuid4(), uuid.uuid4()
    with operator():
        profile = IndexProfile.objects.get(name="default")
    owner(
        "INSERT INTO documents_document (id, namespace_id, source_type, source_uri, title, "
        "content_sha256, media_type, byte_size, tags, metadata, given, status, error_code, "
        "error_message, document_version, live_version, chunks_count, tokens_count, "
        "embedding_model, language) "
        "VALUES (%s, %s, 'md', 'crowd', 'Crowd', '', '', 0, '{odd}', '{}', '{}', 'ready', '', '', "
        "1, 1, 0, 0, '', '')",
        [document_id, real_tenant.pk],
    )
    owner(
        "INSERT INTO documents_documentversion (id, namespace_id, document_id, number, state, "
        "content_sha256, media_type, byte_size, storage_key, file_name, text, outline, warnings) "
        "VALUES (%s, %s, %s, 1, 'live', '', '', 0, '', '', '', '{}', '[]')",
        [version_id, real_tenant.pk, document_id],
    )
    owner(
        "INSERT INTO documents_chunk (id, namespace_id, profile_id, document_id, version_id, "
        'ordinal, kind, content, tokens, section, start, "end", metadata, chunk_hash, embedding) '
        "SELECT gen_random_uuid(), %s, %s, %s, %s, n, 'text', 'c', 1, '', n, n + 1, '{}', '', "
        "  (SELECT array_agg(sin(n * 0.7 + i * i)) FROM generate_series(1, 384) i)::vector "
        "FROM generate_series(1, %s) n",
        [real_tenant.pk, profile.pk, document_id, version_id, ROWS],
    )
    owner(
        "INSERT INTO documents_chunkterms (chunk_id, namespace_id, profile_id, document_id, kind, "
        "place, words_hash, search_vector, impacts) "
        "SELECT id, namespace_id, profile_id, document_id, kind, "
        "  ragsite.place(namespace_id, profile_id), ordinal, words, ragsite.impacts(words, 100) "
        "FROM documents_chunk, "
        "  LATERAL to_tsvector('english', 'word' || ordinal %% 500 || ' common') words "
        "WHERE namespace_id = %s",
        [real_tenant.pk],
    )
    owner("UPDATE documents_document SET chunks_count = %s", [ROWS])
    owner("UPDATE documents_namespace SET chunk_count = %s", [ROWS])
    owner("ANALYZE documents_chunk, documents_document, documents_chunkterms")
    with operator():
        real_tenant.refresh_from_db()
    return real_tenant, profile


def explained(sql: str, parameters: object) -> str:
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN {sql}", parameters)
        return "\n".join(row[0] for row in cursor.fetchall())


def find(crowd: tuple[Namespace, IndexProfile], **options: object) -> tuple[list, str]:
    tenant, profile = crowd
    defaults = {"limit": 50, "exact_up_to": 0}
    filters = options.pop("filters", Filters())
    vector = [((n * 37) % 11 - 5) / 7 + 0.01 for n in range(DIMENSIONS)]
    with namespace(tenant.pk):
        scope = SearchScope(chunks=ROWS)
        if not filters.is_empty:
            few = options.get("exact_up_to", 0)
            scope = resolve(filters, SearchedIndex.of(tenant), few=few)
        return dense.find(
            vector,
            namespace_id=tenant.pk,
            profile=profile,
            scope=scope,
            ef_search=100,
            **defaults | options,
        )


def test_the_approximate_search_takes_the_profiles_own_vector_index(
    crowd: tuple[Namespace, IndexProfile],
):
    tenant, profile = crowd
    statement = dense._APPROXIMATE.format(
        join="", narrowed="", type="halfvec", dimensions=DIMENSIONS
    )
    parameters = {
        "vector": str([0.1] * DIMENSIONS),
        "namespace": tenant.pk,
        "profile": profile.pk,
        "limit": 50,
    }
    with namespace(tenant.pk):
        plan = explained(statement, parameters)
    assert f"Index Scan using chunk_vectors_{profile.pk.hex}" in plan
    assert "namespace_id" in plan  # the tenant wall is still in it


def test_a_broad_filter_keeps_the_vector_index(crowd: tuple[Namespace, IndexProfile]):
    tenant, profile = crowd
    with namespace(tenant.pk):
        scope = resolve(Filters(tags=("odd",)), SearchedIndex.of(tenant), few=0)
        query = dense.prepared(
            [0.1] * DIMENSIONS,
            namespace_id=tenant.pk,
            profile=profile,
            scope=scope,
            limit=50,
            exact_up_to=0,
        )
        dense.allow_iterative_scan(profile, 100, scope)
        plan = explain.explain(query.statement, query.parameters)
    assert query.plan == "hnsw"
    assert f"Index Scan using chunk_vectors_{profile.pk.hex}" in plan


def test_the_rule_chooses_exact_for_small_namespaces_and_the_index_for_large(
    crowd: tuple[Namespace, IndexProfile],
):
    near, plan = find(crowd, exact_up_to=ROWS)
    assert (plan, len(near)) == ("exact", 50)
    approximate, plan = find(crowd)
    assert (plan, len(approximate)) == ("hnsw", 50)
    shared = {c.chunk_id for c in near} & {c.chunk_id for c in approximate}
    assert len(shared) >= 45
    similarities = [c.similarity for c in approximate]
    assert similarities == sorted(similarities, reverse=True)


def test_deleted_neighbours_never_empty_the_result(crowd: tuple[Namespace, IndexProfile]):
    near, _ = find(crowd, limit=60, exact_up_to=ROWS)
    owner("DELETE FROM documents_chunk WHERE id = ANY (%s)", [[c.chunk_id for c in near]])
    left, _ = find(crowd)
    assert len(left) == 50


def test_a_filter_that_leaves_too_little_is_answered_exactly(
    crowd: tuple[Namespace, IndexProfile], work: Callable[[], int]
):
    nothing, plan = find(crowd, filters=Filters(tags=("even",)))
    assert (nothing, plan) == ([], "exact")
    everything, plan = find(crowd, filters=Filters(tags=("odd",)))
    assert (len(everything), plan) == (50, "hnsw")


def test_the_candidate_search_takes_the_words_index_and_the_tenant_with_it(
    crowd: tuple[Namespace, IndexProfile],
):
    tenant, profile = crowd
    plan = explain.explain_candidates(
        lexical.LexicalQuery((), "", "", ROWS, ("english",)),
        "'word7' | 'common'",
        namespace_id=tenant.pk,
        profile_id=profile.pk,
        scope=SearchScope(chunks=ROWS),
        limit=10,
    )
    assert "Bitmap Index Scan on chunk_words" in plan
    index_condition = next(line for line in plan.splitlines() if "Index Cond" in line)
    assert "search_vector @@" in index_condition
    assert "place @>" in index_condition
    assert "Seq Scan" not in plan


def test_the_words_index_serves_the_definer_and_only_the_definer(
    crowd: tuple[Namespace, IndexProfile],
):
    sql = "SELECT chunk_id FROM documents_chunkterms WHERE search_vector @@ 'word7'::tsquery"
    with connections["owner"].cursor() as cursor:
        try:
            cursor.execute("SET ROLE ragsite_definer")
            cursor.execute(f"EXPLAIN {sql}")
            as_definer = "\n".join(row[0] for row in cursor.fetchall())
        finally:
            cursor.execute("RESET ROLE")
    assert "Bitmap Index Scan on chunk_words" in as_definer
    with namespace(crowd[0].pk):
        as_application = explained(sql, None)
    # Why the definer function exists; if this ever changes, it can go.
    assert "chunk_words" not in as_application


@pytest.mark.parametrize(("enough", "found"), [(5, 6), (7, 50)])
def test_common_words_are_not_read_through_for_more_than_was_asked(
    crowd: tuple[Namespace, IndexProfile], enough: int, found: int
):
    """Six chunks have the rare word, all three thousand the other one."""
    tenant, profile = crowd
    rare = bm25.Term(("word7",), (1,), chunks=6, weight=6.0)
    common = bm25.Term(("common",), (2,), chunks=ROWS, weight=0.01)
    with namespace(tenant.pk):
        candidates = lexical.find(
            lexical.LexicalQuery((rare, common), "", "", ROWS, ("english",)),
            profile_id=profile.pk,
            scope=SearchScope(chunks=ROWS),
            limit=50,
            budget=100,
            enough=enough,
        )
    assert len(candidates) == found


@pytest.mark.parametrize(
    ("chunks", "table_rows", "is_scanned"),
    [
        (1_500, 1_500, True),  # alone in a small table
        (10_000, 10_000, False),  # comparing them all would cost more than the index
        (10_000, 100_000, True),  # the index would step over nine rows of others for each of ours
        (30_000, 10_000_000, False),  # above SEARCH_EXACT_SCAN_ROWS
        (5_000, -1, False),  # never analysed: only its own chunks are known of
    ],
)
def test_whether_a_namespace_is_scanned_depends_on_its_share_of_the_table(
    chunks: int, table_rows: int, is_scanned: bool
):
    index = SearchedIndex(uuid.uuid4(), 1, chunks, "en", IndexProfile(), table_rows=table_rows)
    assert whole(index, few=20_000).through_index is not is_scanned
