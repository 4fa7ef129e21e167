"""What a filter leaves is found as a look at everything would find it, however much that is, and by
the way that is quicker."""

import re
import uuid
from collections.abc import Sequence
from dataclasses import replace

import pytest
from django.db import connections

from documents.models import IndexProfile, Namespace
from ragsite.database.tenancy import current_connection, namespace, operator
from retrieval.candidates import dense, explain, lexical
from retrieval.candidates.bm25 import Term, candidates_query, weight
from retrieval.candidates.scope import SAMPLE, SearchScope, resolve, statement
from retrieval.filter_sql import compile_filters, indexed
from retrieval.filters import (
    NO_FILTERS,
    Compares,
    Filters,
    parse_metadata,
)
from retrieval.search_context import SearchedIndex

DOCUMENTS, EACH = 1200, 3  # more than are sampled
ROWS = DOCUMENTS * EACH
DIMENSIONS = 384
FEW = 250
LIMIT = 30


def owner(sql: str, parameters: Sequence[object] = ()) -> None:
    with connections["owner"].cursor() as cursor:
        cursor.execute(sql, parameters)


@pytest.fixture
def library(real_tenant: Namespace) -> Namespace:
    """Documents with tags for a half, a twentieth and a hundredth of them; every tenth chunk is
    code, every fiftieth a table."""
    with operator():
        profile = IndexProfile.objects.get(name="default")
    mine = [real_tenant.pk]
    owner(
        "INSERT INTO documents_document (id, namespace_id, source_type, source_uri, title, "
        "content_sha256, media_type, byte_size, tags, metadata, given, status, error_code, "
        "error_message, document_version, live_version, chunks_count, tokens_count, "
        "embedding_model, language) "
        "SELECT gen_random_uuid(), %s, 'md', 'doc' || n, 'D', '', '', 0, array_remove(ARRAY["
        "  CASE WHEN n %% 2 = 0 THEN 'half' END, CASE WHEN n %% 20 = 0 THEN 'twentieth' END,"
        "  CASE WHEN n %% 100 = 0 THEN 'hundredth' END], NULL)::text[], "
        "  jsonb_build_object('n', n), '{}', 'ready', '', '', 1, 1, %s, 0, '', '' "
        "FROM generate_series(1, %s) n",
        [*mine, EACH, DOCUMENTS],
    )
    owner(
        "INSERT INTO documents_documentversion (id, namespace_id, document_id, number, state, "
        "content_sha256, media_type, byte_size, storage_key, file_name, text, outline, warnings) "
        "SELECT gen_random_uuid(), namespace_id, id, 1, 'live', '', '', 0, '', '', '', '{}', '[]' "
        "FROM documents_document WHERE namespace_id = %s",
        mine,
    )
    owner(
        "INSERT INTO documents_chunk (id, namespace_id, profile_id, document_id, version_id, "
        'ordinal, kind, content, tokens, section, start, "end", metadata, chunk_hash, embedding) '
        "SELECT gen_random_uuid(), namespace_id, %s, document_id, id, m - n * %s, "
        "  CASE WHEN m %% 50 = 0 THEN 'table' WHEN m %% 10 = 0 THEN 'code' ELSE 'text' END, 'c', "
        "  1, '', m, m + 1, '{}', '', "
        "  (SELECT array_agg(sin(m * 0.7 + i * i)) FROM generate_series(1, 384) i)::vector "
        "FROM (SELECT *, row_number() OVER (ORDER BY id) AS n FROM documents_documentversion "
        "  WHERE namespace_id = %s) version, generate_series(n * %s, n * %s + %s - 1) m",
        [profile.pk, EACH, *mine, EACH, EACH, EACH],
    )
    owner(
        "INSERT INTO documents_chunkterms (chunk_id, namespace_id, profile_id, document_id, kind, "
        "place, words_hash, search_vector, impacts) "
        "SELECT id, namespace_id, profile_id, document_id, kind, "
        "  ragsite.place(namespace_id, profile_id), start, words, ragsite.impacts(words, 100) "
        "FROM documents_chunk, LATERAL to_tsvector('english', "
        "  'rare' || start %% 40 || repeat(' seldom' || start %% 7, 1 + start %% 5) || ' common') "
        "  words "
        "WHERE namespace_id = %s",
        mine,
    )
    # Collections of a half and of a twentieth of the documents.
    owner(
        "INSERT INTO documents_collection (id, namespace_id, name, metadata) "
        "SELECT gen_random_uuid(), %s, name, '{}' FROM unnest(ARRAY['half', 'twentieth']) name",
        mine,
    )
    owner(
        "INSERT INTO documents_collectiondocument "
        "  (id, namespace_id, collection_id, document_id, attributes) "
        "SELECT gen_random_uuid(), document.namespace_id, collection.id, document.id, "
        "  document.metadata FROM documents_document document "
        "JOIN documents_collection collection ON collection.name = ANY (document.tags) "
        "WHERE document.namespace_id = %s AND collection.namespace_id = document.namespace_id",
        mine,
    )
    owner("UPDATE documents_namespace SET chunk_count = %s WHERE id = %s", [ROWS, *mine])
    owner(
        "ANALYZE documents_chunk, documents_document, documents_chunkterms, "
        "documents_collectiondocument"
    )
    with operator():
        return Namespace.objects.select_related("active_profile").get(pk=real_tenant.pk)


def question() -> lexical.LexicalQuery:
    with connections["owner"].cursor() as cursor:
        cursor.execute("SELECT ragsite.dimension(unnest(ARRAY['rare7', 'seldom3', 'common']))")
        dimensions = [row[0] for row in cursor.fetchall()]
    counts = [ROWS // 40, ROWS // 7, ROWS]
    terms = [
        Term((word,), (dimension,), chunks, weight(chunks, total=ROWS))
        for word, dimension, chunks in zip(
            ["rare7", "seldom3", "common"], dimensions, counts, strict=True
        )
    ]
    return lexical.LexicalQuery(tuple(terms), "", "", ROWS, ("english",))


def near(
    tenant: Namespace, scope: SearchScope, *, exact: bool = False
) -> tuple[list[uuid.UUID], str]:
    vector = [((n * 37) % 11 - 5) / 7 + 0.01 for n in range(DIMENSIONS)]
    found, plan = dense.find(
        vector,
        namespace_id=tenant.pk,
        profile=tenant.active_profile,
        scope=replace(scope, through_index=False, documents=None) if exact else scope,
        limit=LIMIT,
        exact_up_to=10**9 if exact else FEW,
        ef_search=100,
    )
    return [candidate.chunk_id for candidate in found], plan


def wordy(tenant: Namespace, scope: SearchScope, *, budget: int) -> list[uuid.UUID]:
    found = lexical.find(
        question(), profile_id=tenant.active_profile_id, scope=scope, limit=LIMIT, budget=budget
    )
    return [candidate.chunk_id for candidate in found]


CASES = [
    (NO_FILTERS, ROWS, "hnsw"),
    (Filters(tags_none=("hundredth",)), 3564, "hnsw"),
    (Filters(tags=("half",)), 1800, "hnsw"),
    (Filters(collections=("half",)), 1800, "hnsw"),
    (Filters(collections=("twentieth", "nobody")), 180, "exact"),
    (
        Filters(
            collections=("half",), attributes=Compares(path=("n",), operator="$gt", operand="1180")
        ),
        30,
        "exact",
    ),
    (Filters(collections=("nobody",)), 0, "exact"),
    (Filters(kinds=("code",)), 288, "hnsw"),
    (Filters(kinds=("code",), tags=("half",)), 144, "hnsw"),
    (Filters(tags=("twentieth",)), 180, "exact"),
    (Filters(kinds=("table",)), 72, "exact"),
    (Filters(kinds=("table",), tags=("half",)), 36, "exact"),
    (Filters(tags=("hundredth",)), 36, "exact"),
    (Filters(kinds=("code",), tags=("twentieth",)), 15, "exact"),
    (Filters(tags=("nobody",)), 0, "exact"),
]


def test_both_legs_find_what_is_best_among_what_passes(library: Namespace):
    for filters, left, expected in CASES:
        with namespace(library.pk):
            scope = resolve(filters, SearchedIndex.of(library), few=FEW)
            found, plan = near(library, scope)
            exact, _ = near(library, scope, exact=True)
            words = wordy(library, scope, budget=100)
            unhurried = replace(scope, documents=None, through_index=True, share=1.0)
            all_words = wordy(library, unhurried, budget=10**9)
        assert plan == expected, filters
        assert scope.share == pytest.approx(left / ROWS, abs=0.1), filters
        assert len(found) == len(exact), filters
        assert len(set(found[:10]) & set(exact[:10])) >= 0.9 * len(exact[:10]), filters
        assert words[:10] == all_words[:10], filters
        assert len(words) == len(all_words), filters


def test_how_much_a_filter_leaves_decides_how_it_is_found(library: Namespace):
    vector = [0.1] * DIMENSIONS
    profile = library.active_profile
    with namespace(library.pk):
        few = resolve(Filters(tags=("twentieth",)), SearchedIndex.of(library), few=FEW)
        query = dense.prepared(
            vector,
            namespace_id=library.pk,
            profile=profile,
            scope=few,
            limit=LIMIT,
            exact_up_to=FEW,
        )
        near_plan = explain.explain(query.statement, query.parameters)
        word_plan = explain.explain(
            *lexical.scan_each_chunk(question(), profile_id=profile.pk, scope=few, limit=LIMIT)
        )
        many = resolve(Filters(tags=("half",)), SearchedIndex.of(library), few=FEW)
        # A namespace that is small as a whole is never looked at through the index.
        small = resolve(Filters(tags=("half",)), SearchedIndex.of(library), few=ROWS)
        with connections["default"].cursor() as cursor:
            cursor.execute(
                "SELECT array_agg(id) FROM (SELECT id FROM documents_document ORDER BY id LIMIT %s)"
                " first",
                [FEW // EACH],
            )
            (sampled,) = cursor.fetchone()
        named = resolve(Filters(document_ids=tuple(sampled)), SearchedIndex.of(library), few=FEW)
    for plan, table in ((near_plan, "documents_chunk"), (word_plan, "documents_chunkterms")):
        assert f"Index Scan using {table}_document_id" in plan
        assert "Index Cond: (document_id = passing.id)" in plan
        assert "Seq Scan" not in plan
    assert (few.chunks, few.through_index) == (180, False)
    assert few.documents.count(",") == 59
    assert (many.documents, many.through_index) == (None, True)
    assert (small.chunks, small.documents.count(",")) == (1800, 599)
    assert named.chunks == FEW // EACH * EACH  # counted, though all of the sample pass
    assert lexical.scans_each_chunk(few, 100)
    assert not lexical.scans_each_chunk(many, 10**9)
    assert not lexical.scans_each_chunk(small, 100)
    assert lexical.wider(100, many) == pytest.approx(200, rel=0.2)
    assert lexical.wider(100, few) == 600


def test_listed_documents_are_looked_for_where_words_are_found(library: Namespace):
    """Not by unpacking the words of every chunk of theirs, which takes longer than no filter."""
    profile = library.active_profile
    with namespace(library.pk):
        listed = resolve(Filters(tags=("half",)), SearchedIndex.of(library), few=ROWS)
        words = wordy(library, listed, budget=100)
        by_join = replace(listed, documents=None, through_index=True, share=1.0)
        all_words = wordy(library, by_join, budget=10**9)
    assert listed.documents is not None
    assert not lexical.scans_each_chunk(listed, 100)
    assert words[:10] == all_words[:10]
    plan = explain.explain_candidates(
        question(),
        candidates_query(question().terms, share=0.5),
        namespace_id=library.pk,
        profile_id=profile.pk,
        scope=listed,
        limit=LIMIT,
    )
    assert "Bitmap Index Scan on chunk_words" in plan
    assert "document_id = ANY" in plan
    assert "Seq Scan" not in plan


def test_a_broad_filter_is_not_asked_of_every_document(library: Namespace):
    def passing(tag: str) -> str:
        filters = Filters(tags=(tag,))
        condition, parameters = compile_filters(filters)
        function, wanted = indexed(filters) or ("", None)
        common = {"tenant": library.pk, "chunks": ROWS, "few": FEW, "sample": SAMPLE}
        asked = {**parameters, **common, "wanted": wanted}
        plan = explain.explain(statement(condition, function), asked, analyse=True)
        return plan.partition("CTE passing")[2].partition("CTE counted")[0]

    with namespace(library.pk):
        assert "(never executed)" in passing("half")
        assert "(never executed)" not in passing("twentieth")


@pytest.mark.parametrize(
    ("filters", "used"),
    [
        (Filters(tags=("hundredth",)), "document_tags"),
        (Filters(tags_all=("half", "hundredth")), "document_tags"),
        (Filters(metadata=parse_metadata({"n": 7})), "document_metadata"),
        (Filters(metadata=parse_metadata({"n": {"$in": [7, 8]}})), "document_metadata"),
        (Filters(metadata=parse_metadata({"n": 7, "m": {"$gt": 1}})), "document_metadata"),
    ],
)
def test_rare_tags_and_metadata_are_found_by_their_index(
    library: Namespace, filters: Filters, used: str
):
    found = indexed(filters)
    assert found is not None
    function, wanted = found
    name, _, kind = function.removeprefix("ragsite.").removesuffix(")").partition("({}::")
    plan = explain.explain_inside(name, {"wanted": (wanted, kind)}, library.pk)
    assert f"Bitmap Index Scan on {used}" in plan
    assert "Seq Scan" not in plan


def test_a_collection_is_found_by_its_index_and_its_members_are_read_once(library: Namespace):
    filters = Filters(collections=("twentieth",))
    condition, parameters = compile_filters(filters)
    function, wanted = indexed(filters) or ("", None)
    common = {"tenant": library.pk, "chunks": ROWS, "few": FEW, "sample": SAMPLE}
    with namespace(library.pk):
        with current_connection().cursor() as cursor:
            cursor.execute("SET LOCAL enable_seqscan = off")  # the table is small
        plan = explain.explain(
            statement(condition, function), {**parameters, **common, "wanted": wanted}
        )
    # Row-level security does not keep the index from being used.
    assert re.search(r"Index Cond: \(+namespace_id = .* AND \(collection_id = ANY", plan)
    assert "hashed SubPlan" in plan.partition("CTE passing")[2]


@pytest.mark.parametrize(
    "filters",
    [
        Filters(tags_none=("half",)),
        Filters(source_types=("md",)),
        Filters(metadata=parse_metadata({"$or": [{"n": 7}, {"m": 1}]})),
        Filters(metadata=parse_metadata({"n": {"$ne": 7}})),
    ],
)
def test_what_no_index_narrows_is_asked_of_every_document(filters: Filters):
    assert indexed(filters) is None


def test_documents_are_found_by_index_in_ones_own_namespace_only(
    library: Namespace, other_tenant: Namespace
):
    def found(call: str) -> int:
        with current_connection().cursor() as cursor:
            cursor.execute(f"SELECT count(*) FROM {call}")
            return int(cursor.fetchone()[0])

    calls = (
        "ragsite.documents_tagged('{half}')",
        "ragsite.documents_tagged_all('{half}')",
        """ragsite.documents_holding(ARRAY['{"n": 2}'::jsonb])""",
    )
    with namespace(library.pk):
        assert [found(call) for call in calls] == [DOCUMENTS // 2, DOCUMENTS // 2, 1]
    with namespace(other_tenant.pk):
        assert [found(call) for call in calls] == [0, 0, 0]
    assert [found(call) for call in calls] == [0, 0, 0]
