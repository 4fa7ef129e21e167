"""Each profile's own vector index: the method it asks for, built and dropped beside everybody."""

import math
import threading
import time
import uuid
from collections.abc import Callable
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.core.management import call_command
from django.db import DatabaseError, connections

from documents import housekeeping
from documents.models import IndexProfile, Namespace
from documents.profiles import ann_methods, deletion, profiles, vector_indexes
from ragsite.database.tenancy import namespace, operator
from retrieval.candidates import dense, explain
from retrieval.candidates.scope import SearchScope

ROWS = 3000
DIMENSIONS = 256


def owner(sql: str, parameters: list[object] | None = None) -> list[tuple[Any, ...]]:
    with connections["owner"].cursor() as cursor:
        cursor.execute(sql, parameters)
        return cursor.fetchall() if cursor.description else []


def indexes() -> dict[str, bool]:
    return dict(
        owner(
            "SELECT relname, indisvalid FROM pg_index JOIN pg_class ON oid = indexrelid "
            "WHERE indrelid = 'documents_chunk'::regclass AND starts_with(relname, 'chunk_vectors')"
        )
    )


@pytest.fixture
def crowd_under(new_namespace: Callable[..., Namespace]) -> Callable[..., Any]:
    """A namespace under a new profile, with many chunks made in SQL."""

    def create(**fields: Any) -> tuple[Namespace, IndexProfile]:
        profile = profiles.create("mine", embedder="hashing", **fields)
        tenant = new_namespace("crowd", profile=profile)
        document_id, version_id = uuid.uuid4(), uuid.uuid4()
        owner(
            "INSERT INTO documents_document (id, namespace_id, source_type, source_uri, title, "
            "content_sha256, media_type, byte_size, tags, metadata, given, status, error_code, "
            "error_message, document_version, live_version, chunks_count, tokens_count, "
            "embedding_model, language) VALUES (%s, %s, 'md', 'crowd', 'Crowd', '', '', 0, '{}', "
            "'{}', '{}', 'ready', '', '', 1, 1, 0, 0, '', '')",
            [document_id, tenant.pk],
        )
        owner(
            "INSERT INTO documents_documentversion (id, namespace_id, document_id, number, state, "
            "content_sha256, media_type, byte_size, storage_key, file_name, text, outline, "
            "warnings) VALUES (%s, %s, %s, 1, 'live', '', '', 0, '', '', '', '{}', '[]')",
            [version_id, tenant.pk, document_id],
        )
        owner(
            "INSERT INTO documents_chunk (id, namespace_id, profile_id, document_id, version_id, "
            'ordinal, kind, content, tokens, section, start, "end", metadata, chunk_hash, '
            "embedding) SELECT gen_random_uuid(), %s, %s, %s, %s, n, 'text', 'c', 1, '', n, n + 1, "
            "'{}', '', (SELECT array_agg(sin(n * 0.7 + i * i)) FROM generate_series(1, %s) i)"
            "::vector FROM generate_series(1, %s) n",
            [tenant.pk, profile.pk, document_id, version_id, DIMENSIONS, ROWS],
        )
        owner("ANALYZE documents_chunk")
        return tenant, profile

    return create


def asked(tenant: Namespace, profile: IndexProfile, **options: Any) -> dict[str, Any]:
    noise = (((n * 37) % 11 - 5) / 50 for n in range(1, DIMENSIONS + 1))
    vector = [math.sin(3.4 + n * n) + off for n, off in enumerate(noise, start=1)]
    where = {"namespace_id": tenant.pk, "profile": profile, "scope": SearchScope(chunks=ROWS)}
    return {"vector": vector, **where, "limit": 50, "exact_up_to": 0, **options}


def plan_of(tenant: Namespace, profile: IndexProfile) -> str:
    with namespace(tenant.pk):
        query = dense.prepared(**asked(tenant, profile))
        dense.allow_iterative_scan(profile, 100, SearchScope(chunks=ROWS))
        return explain.explain(query.statement, query.parameters)


@pytest.mark.parametrize("method", ["hnsw", "bit", "ivfflat"])
def test_a_search_takes_the_index_of_its_profile_and_finds_what_an_exact_one_finds(
    method: str, crowd_under: Callable[..., Any]
):
    tenant, profile = crowd_under(ann_method=method)
    assert vector_indexes.ensure(profile) is True
    assert vector_indexes.ensure(profile) is False
    assert f"Index Scan using chunk_vectors_{profile.pk.hex}" in plan_of(tenant, profile)
    with namespace(tenant.pk):
        near, plan = dense.find(**asked(tenant, profile), ef_search=100)
        exact, _ = dense.find(**asked(tenant, profile, exact_up_to=ROWS), ef_search=100)
    assert (plan, len(near)) == (method, 50)
    shared = {c.chunk_id for c in near} & {c.chunk_id for c in exact}
    assert len(shared) >= 40
    assert [c.similarity for c in near] == sorted((c.similarity for c in near), reverse=True)


def test_ivfflat_asks_for_its_probes_and_goes_on_past_deleted_rows(
    crowd_under: Callable[..., Any],
):
    tenant, profile = crowd_under(ann_method="ivfflat", ann_options={"lists": 30, "probes": 2})
    vector_indexes.ensure(profile)
    assert profile.index_facts == {"lists": 30, "rows": ROWS}
    with namespace(tenant.pk), connections["default"].cursor() as cursor:
        dense.allow_iterative_scan(profile, 100, SearchScope(chunks=ROWS))
        cursor.execute(
            "SELECT current_setting('ivfflat.probes'), current_setting('ivfflat.iterative_scan')"
        )
        assert cursor.fetchone() == ("2", "relaxed_order")
        near, _ = dense.find(**asked(tenant, profile), ef_search=100)
    owner("DELETE FROM documents_chunk WHERE id = ANY (%s)", [[c.chunk_id for c in near]])
    with namespace(tenant.pk):
        left, _ = dense.find(**asked(tenant, profile), ef_search=100)
    assert len(left) == 50


def test_exact_has_no_index_and_says_so(crowd_under: Callable[..., Any]):
    tenant, profile = crowd_under(ann_method="exact")
    assert vector_indexes.ensure(profile) is False
    assert vector_indexes.name_of(profile.pk) not in indexes()
    with namespace(tenant.pk):
        assert dense.find(**asked(tenant, profile), ef_search=100)[1] == "exact"


def test_lists_follow_the_rows_and_an_outgrown_index_is_built_anew(
    crowd_under: Callable[..., Any],
):
    assert ann_methods.build_options("ivfflat", {}, rows=50_000) == {"lists": 50}
    assert ann_methods.build_options("ivfflat", {}, rows=4_000_000) == {"lists": 2000}
    assert ann_methods.probes({}, {"lists": 50}) == 8
    _, profile = crowd_under(ann_method="ivfflat")
    owner("DELETE FROM documents_chunk WHERE ordinal > 500")
    assert vector_indexes.ensure(profile) is False  # too few rows to learn from
    assert vector_indexes.name_of(profile.pk) not in indexes()
    owner(
        "INSERT INTO documents_chunk (id, namespace_id, profile_id, document_id, version_id, "
        'ordinal, kind, content, tokens, section, start, "end", metadata, chunk_hash, embedding) '
        "SELECT gen_random_uuid(), namespace_id, profile_id, document_id, version_id, "
        'ordinal + 1000 * n, kind, content, tokens, section, start, "end", metadata, chunk_hash, '
        "embedding FROM documents_chunk, generate_series(1, 3) n"
    )
    assert vector_indexes.ensure(profile) is True
    assert profile.index_facts == {"lists": 10, "rows": 2000}
    profile.index_facts = {"lists": 2, "rows": 100}  # as if it had been built for far fewer
    assert vector_indexes.ensure(profile) is True
    assert profile.index_facts["lists"] == 10
    assert all(indexes().values())


def test_a_method_the_server_does_not_have_is_refused_with_what_to_install(db: None):
    for method, extension in (("vchordrq", "vchord"), ("scann", "alloydb_scann")):
        with pytest.raises(vector_indexes.MethodUnavailable, match=extension):
            profiles.create("far", embedder="hashing", ann_method=method)
    with operator():
        assert not IndexProfile.objects.filter(name="far").exists()


def test_bits_propose_and_whole_vectors_decide(crowd_under: Callable[..., Any]):
    """The index holds one bit for each number; similarities and their order are exact."""
    tenant, profile = crowd_under(ann_method="bit", ann_options={"rescore": 5})
    vector_indexes.ensure(profile)
    (definition,) = owner(
        "SELECT indexdef FROM pg_indexes WHERE indexname = %s", [vector_indexes.name_of(profile.pk)]
    )[0]
    assert f"(binary_quantize(embedding))::bit({DIMENSIONS})) bit_hamming_ops" in definition
    assert "rescore" not in definition
    with namespace(tenant.pk):
        query = dense.prepared(**asked(tenant, profile))
        assert (query.width, query.parameters["alike"]) == (250, 250)
        near, _ = dense.find(**asked(tenant, profile), ef_search=100)
        exact, _ = dense.find(**asked(tenant, profile, exact_up_to=ROWS), ef_search=100)
        width = ef_search_now()
    right = {candidate.chunk_id: candidate.similarity for candidate in exact}
    found = {candidate.chunk_id: candidate.similarity for candidate in near}
    assert all(found[each] == right[each] for each in found.keys() & right.keys())
    assert width == "250"


def ef_search_now() -> str:
    with connections["default"].cursor() as cursor:
        cursor.execute("SHOW hnsw.ef_search")
        return str(cursor.fetchone()[0])


def test_diskann_is_withdrawn_and_what_used_it_is_scanned(
    crowd_under: Callable[..., Any], capsys: pytest.CaptureFixture[str]
):
    with pytest.raises(vector_indexes.MethodUnavailable, match="withdrawn"):
        profiles.create("far", embedder="hashing", ann_method="diskann")
    tenant, profile = crowd_under()
    vector_indexes.ensure(profile)  # an index that an earlier release built
    with operator():
        IndexProfile.objects.filter(pk=profile.pk).update(ann_method="diskann", ann_options={})
    profile.refresh_from_db(using="operator")
    with namespace(tenant.pk):
        assert dense.find(**asked(tenant, profile), ef_search=100)[1] == "exact"
    housekeeping.tidy()
    assert vector_indexes.name_of(profile.pk) not in indexes()
    call_command("profile", "list")
    assert "diskann (withdrawn, scanned exactly)" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("method", "options", "sentence"),
    [
        ("bit", {"rescore": 0}, "rescore: a whole number from 1 to 100"),
        ("bit", {"m": 40, "ef_construction": 64}, "at least twice m"),
        ("hnsw", {"rescore": 4}, "hnsw has no option 'rescore'"),
        ("hnsw", {"lists": 5}, "hnsw has no option 'lists'"),
        ("hnsw", {"m": 1}, "m: a whole number from 2 to 100"),
        ("hnsw", {"m": 40, "ef_construction": 64}, "at least twice m"),
        ("ivfflat", {"probes": True}, "probes: a whole number"),
        ("exact", {"m": 16}, "exact has no option 'm'"),
        ("hnsw", [], "An object"),
    ],
)
def test_options_that_make_no_sense_are_refused(method: str, options: Any, sentence: str, db: None):
    with pytest.raises(ValidationError, match=sentence):
        profiles.create("odd", embedder="hashing", ann_method=method, ann_options=options)


def test_an_interrupted_build_is_dropped_and_done_again(crowd_under: Callable[..., Any]):
    """The backend is ended in the middle of CREATE INDEX CONCURRENTLY, as by a crash."""
    tenant, profile = crowd_under()
    name = vector_indexes.name_of(profile.pk)
    failed: list[BaseException] = []

    def build() -> None:
        try:
            vector_indexes.ensure(profile)
        except DatabaseError as error:
            failed.append(error)
        finally:
            connections.close_all()

    # A transaction that was there before: the build has to wait for its end.
    with namespace(tenant.pk), connections["default"].cursor() as cursor:
        cursor.execute("SELECT txid_current()")
        builder = threading.Thread(target=build)
        builder.start()
        deadline = time.monotonic() + 30
        while f"{name}_new" not in indexes() and time.monotonic() < deadline:
            time.sleep(0.05)
        owner(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE query LIKE 'CREATE INDEX CONCURRENTLY%%' AND pid <> pg_backend_pid()"
        )
        builder.join(30)
    assert failed
    assert indexes()[f"{name}_new"] is False
    assert vector_indexes.ensure(profile) is True
    assert {key: valid for key, valid in indexes().items() if key.startswith(name)} == {name: True}


def test_housekeeping_drops_leftovers_and_builds_what_is_missing(crowd_under: Callable[..., Any]):
    _, profile = crowd_under()
    orphan = vector_indexes.name_of(uuid.uuid4())
    owner(f"CREATE INDEX {orphan} ON documents_chunk (ordinal)")
    housekeeping.tidy()
    assert orphan not in indexes()
    assert indexes()[vector_indexes.name_of(profile.pk)] is True
    assert vector_indexes.name_of(uuid.UUID("5f0b7d5e-6c1a-5b8e-9d5c-2f4d3c1b0a01")) in indexes()


def test_a_finished_build_whose_builder_died_is_taken_over(crowd_under: Callable[..., Any]):
    _, profile = crowd_under()
    name = vector_indexes.name_of(profile.pk)
    vector_indexes.ensure(profile)
    owner(f"ALTER INDEX {name} RENAME TO {name}_new")
    assert vector_indexes.ensure(profile) is False
    assert indexes()[name] is True


def test_a_profile_goes_when_nobody_uses_it(crowd_under: Callable[..., Any]):
    _, profile = crowd_under()
    vector_indexes.ensure(profile)
    with pytest.raises(deletion.ProfileInUse):
        deletion.retire(profile)
    owner("DELETE FROM documents_document")
    owner("DELETE FROM documents_namespaceusage")
    owner("DELETE FROM documents_namespace")
    deletion.retire(profile)
    assert vector_indexes.name_of(profile.pk) not in indexes()
    with operator():
        assert not IndexProfile.objects.filter(name="mine").exists()
        default = IndexProfile.objects.get(name="default")
    with pytest.raises(deletion.ProfileInUse, match="default"):
        deletion.retire(default)


def test_four_thousand_dimensions_can_be_indexed_and_no_more(
    new_namespace: Callable[..., Namespace], settings: Any
):
    from ragsite.platform.backends import load_backend

    hashing = "documents.embedders.hashing.HashingEmbedder"
    for alias, dimensions in (("wide", 4000), ("wider", 4001)):
        entry = {"BACKEND": hashing, "OPTIONS": {"dimensions": dimensions}}
        settings.EMBEDDERS = {**settings.EMBEDDERS, alias: entry}
    load_backend.cache_clear()
    wide = profiles.create("wide", embedder="wide")
    new_namespace("wide", profile=wide)
    assert vector_indexes.ensure(wide) is True
    with pytest.raises(ValidationError, match="4000"):
        profiles.create("wider", embedder="wider")
    assert wide.index_facts == {"m": 16, "ef_construction": 64, "rows": 0}
