"""From one profile to another and back, with no moment in which a search finds less."""

import threading
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connections

from documents.ingestion.pipeline import ingest
from documents.jobs import heartbeat, queue
from documents.models import (
    Chunk,
    ChunkTerms,
    Document,
    DocumentVersion,
    IndexProfile,
    Namespace,
    Reindex,
    TermStatistics,
)
from documents.reindex import build as building
from documents.reindex import switching
from ragsite.database.tenancy import namespace, operator
from retrieval.requests import SearchRequest
from retrieval.search import search

from ..client import Api

LIGHT = "# Light {n}\n\nThe keeper of light {n} notes calm seas.\n\n## Oil\n\nLamp oil {n} ran low."


def fill(api: Api, number: int) -> list[str]:
    files = [(f"light-{n}.md", LIGHT.format(n=n)) for n in range(number)]
    return [result["document_id"] for result in api.upload(*files).body["results"]]


def chunks_of(tenant: Namespace, profile: IndexProfile) -> list[tuple[Any, ...]]:
    with namespace(tenant.pk):
        rows = Chunk.objects.filter(profile=profile).order_by("document__source_uri", "ordinal")
        return [
            (uri, number, content, list(vector))
            for uri, number, content, vector in rows.values_list(
                "document__source_uri", "version__number", "content", "embedding"
            )
        ]


def state_of(tenant: Namespace) -> str:
    with operator():
        return Reindex.objects.filter(namespace=tenant).latest("created_at").state


def assert_each_profile_is_whole(tenant: Namespace) -> None:
    """What is live has chunks of its own version under both, and the figures are those of one."""
    with operator():
        tenant.refresh_from_db()
    with namespace(tenant.pk):
        reindex = switching.current(tenant.pk)
        assert reindex is not None
        for profile in (reindex.profile, reindex.replaces):
            assert building.missing(tenant.pk, profile.pk) == []
            rows = Chunk.objects.filter(profile=profile)
            assert not rows.exclude(version__state="live").exists()
            assert ChunkTerms.objects.filter(profile=profile).count() == rows.count()
            assert TermStatistics.objects.filter(profile=profile).exists()
            for chunk in rows.select_related("version"):
                assert chunk.version.text[chunk.start : chunk.end] == chunk.content
        own = Chunk.objects.filter(profile=tenant.active_profile)
        assert tenant.chunk_count == own.count()
        per_document = Counter(own.values_list("document_id", flat=True))
        figures = Document.objects.exclude(live_version=None).values_list("pk", "chunks_count")
        assert dict(figures) == dict(per_document)


def test_a_namespace_moves_and_goes_back_and_reclaims(
    api: Api,
    tenant: Namespace,
    hashing_profile: IndexProfile,
    small_profile: IndexProfile,
    build: Callable[[], None],
):
    fill(api, 6)
    build()
    before = api.query("oil of light 3").body
    assert before["diagnostics"]["profile"] == "hashing"
    switching.start(tenant.pk, small_profile)
    with pytest.raises(switching.Behind, match="still being built"):
        switching.switch(tenant.pk)
    build()
    assert state_of(tenant) == "built"
    assert_each_profile_is_whole(tenant)
    assert api.query("oil of light 3").body["results"] == before["results"]

    switching.switch(tenant.pk)
    after = api.query("oil of light 3").body
    assert after["diagnostics"]["profile"] == "small"
    assert after["diagnostics"]["cache"] == "miss"
    assert after["results"][0]["title"] == "Light 3"
    assert not {hit["chunk_id"] for hit in after["results"]} & {
        hit["chunk_id"] for hit in before["results"]
    }
    assert_each_profile_is_whole(tenant)
    assert {d["embedding_dim"] for d in api.get("documents").body["results"]} == {64}

    switching.roll_back(tenant.pk)
    assert api.query("oil of light 3").body["results"] == before["results"]
    assert_each_profile_is_whole(tenant)
    switching.switch(tenant.pk)
    switching.reclaim(tenant.pk)
    assert switching.sweep(tenant.pk) > 0
    assert chunks_of(tenant, hashing_profile) == []
    with namespace(tenant.pk):
        assert not TermStatistics.objects.filter(profile=hashing_profile).exists()
    assert state_of(tenant) == "reclaimed"
    assert api.query("oil of light 3").body["results"] == after["results"]
    with pytest.raises(switching.NoSuchReindex):
        switching.roll_back(tenant.pk)


def test_what_comes_changes_and_goes_meanwhile_is_so_under_both(
    api: Api, tenant: Namespace, small_profile: IndexProfile, build: Callable[[], None]
):
    ids = fill(api, 5)
    build()
    switching.start(tenant.pk, small_profile)
    claim = building.claim(heartbeat.group())
    assert claim is not None
    building.build(claim, seconds=0)  # begun, and nothing done
    api.upload(("light-1.md", "# Light 1\n\nRebuilt in stone."), ("new.md", "# New\n\nGranite."))
    api.delete(f"documents/{ids[2]}")
    build()
    assert state_of(tenant) == "built"
    assert_each_profile_is_whole(tenant)
    texts = {uri: content for uri, _, content, _ in chunks_of(tenant, small_profile)}
    assert "stone" in texts["upload:light-1.md"]
    assert "Granite" in texts["upload:new.md"]
    assert "upload:light-2.md" not in texts

    switching.switch(tenant.pk)
    api.upload(("later.md", "# Later\n\nBasalt and slate."))
    build()
    assert_each_profile_is_whole(tenant)
    switching.roll_back(tenant.pk)
    assert api.query("basalt").body["results"][0]["title"] == "Later"


def test_the_old_version_stays_under_the_other_profile_until_the_new_one_is_there(
    api: Api, tenant: Namespace, small_profile: IndexProfile, build: Callable[[], None], work: Any
):
    fill(api, 2)
    build()
    switching.start(tenant.pk, small_profile)
    build()
    api.upload(("light-1.md", "# Light 1\n\nRebuilt in stone."))
    work()
    found = {(uri, number) for uri, number, _, _ in chunks_of(tenant, small_profile)}
    assert ("upload:light-1.md", 1) in found
    with pytest.raises(switching.Behind):
        switching.switch(tenant.pk)
    build()
    found = {(uri, number) for uri, number, _, _ in chunks_of(tenant, small_profile)}
    assert found == {("upload:light-0.md", 1), ("upload:light-1.md", 2)}
    switching.switch(tenant.pk)


def test_a_document_indexed_while_the_pointer_moves_lands_under_the_new_profile(
    api: Api,
    tenant: Namespace,
    small_profile: IndexProfile,
    build: Callable[[], None],
    monkeypatch: pytest.MonkeyPatch,
):
    fill(api, 2)
    build()
    switching.start(tenant.pk, small_profile)
    build()
    api.upload(("late.md", "# Late\n\nGranite."))
    claim = queue.claim(heartbeat.group())
    assert claim is not None
    from documents.ingestion import pipeline

    split, moved = pipeline.split, []

    def switch_first(*args: Any) -> Any:  # between reading the pointer and publishing
        if not moved:
            moved.append(switching.switch(tenant.pk))
        return split(*args)

    monkeypatch.setattr(pipeline, "split", switch_first)
    ingest(claim)
    with namespace(tenant.pk):
        chunk = Chunk.objects.get(document__source_uri="upload:late.md")
        assert chunk.profile == small_profile
    assert api.query("granite").body["results"][0]["title"] == "Late"
    build()
    assert_each_profile_is_whole(tenant)


def test_killed_at_any_document_it_goes_on_and_ends_the_same(
    api: Api,
    tenant: Namespace,
    small_profile: IndexProfile,
    build: Callable[[], None],
    monkeypatch: pytest.MonkeyPatch,
):
    fill(api, 6)
    build()
    switching.start(tenant.pk, small_profile)
    build()
    undisturbed = chunks_of(tenant, small_profile)
    switching.cancel(tenant.pk)
    switching.sweep(tenant.pk)
    assert chunks_of(tenant, small_profile) == []

    switching.start(tenant.pk, small_profile)
    publish, calls = building.publish_for_reindex, []

    def die(*args: Any) -> bool:
        calls.append(1)
        if len(calls) % 2:
            raise KeyboardInterrupt  # no handler of ours runs, as with a kill
        return publish(*args)

    monkeypatch.setattr(building, "publish_for_reindex", die)
    for _ in range(30):
        claim = building.claim(heartbeat.group())
        if claim is None:
            break
        try:
            building.build(claim)
        except KeyboardInterrupt:
            assert building.claim("another") is None  # the lease still holds
            building.requeue_stalled([heartbeat.group()])  # the supervisor has buried the worker
    assert len(calls) >= 6
    assert state_of(tenant) == "built"
    assert chunks_of(tenant, small_profile) == undisturbed


def test_a_lease_that_ran_out_is_taken_over_and_its_former_owner_stops(
    api: Api, tenant: Namespace, small_profile: IndexProfile, build: Callable[[], None]
):
    fill(api, 2)
    build()
    switching.start(tenant.pk, small_profile)
    slow = building.claim("slow")
    assert slow is not None
    assert building.claim("other") is None
    with connections["owner"].cursor() as cursor:
        cursor.execute("UPDATE documents_reindex SET lease_until = now() - interval '1 s'")
    other = building.claim("other")
    assert other is not None
    building.build(slow)  # wakes up, and finds that it is not its own any more
    assert chunks_of(tenant, small_profile) == []
    building.build(other)
    assert state_of(tenant) == "built"


def test_a_model_that_is_away_puts_the_build_off_and_uploads_go_on(
    api: Api,
    tenant: Namespace,
    small_profile: IndexProfile,
    build: Callable[[], None],
    settings: Any,
    monkeypatch: pytest.MonkeyPatch,
):
    from documents.embedders.hashing import HashingEmbedder

    fill(api, 2)
    build()
    switching.start(tenant.pk, small_profile)
    embed = HashingEmbedder.embed_batch

    def broken(self: HashingEmbedder, texts: list[str]) -> Any:
        if self.dimensions == 64:
            raise ConnectionError("away")
        return embed(self, texts)

    monkeypatch.setattr(HashingEmbedder, "embed_batch", broken)
    api.upload(("new.md", "# New\n\nGranite."))
    build()
    with operator():
        reindex = Reindex.objects.get()
    assert (reindex.state, reindex.error_code) == ("building", "embedding_failed")
    assert reindex.attempts == 1
    assert api.query("granite").body["results"][0]["title"] == "New"
    monkeypatch.setattr(HashingEmbedder, "embed_batch", embed)
    with connections["owner"].cursor() as cursor:
        cursor.execute("UPDATE documents_reindex SET run_after = now()")
    build()
    assert state_of(tenant) == "built"


def test_a_newer_reader_changes_the_text_under_both_profiles_at_once(
    api: Api,
    tenant: Namespace,
    hashing_profile: IndexProfile,
    small_profile: IndexProfile,
    build: Callable[[], None],
):
    fill(api, 2)
    build()
    # As if an older release had read the file differently.
    with connections["owner"].cursor() as cursor:
        cursor.execute("UPDATE documents_documentversion SET text = 'x' || text")
    switching.start(tenant.pk, small_profile)
    build()
    time.sleep(building.RETRY_SECONDS)  # the builder lets the documents' own jobs go first
    build()
    assert_each_profile_is_whole(tenant)
    with namespace(tenant.pk):
        assert not DocumentVersion.objects.filter(text__startswith="x").exists()


def test_only_what_an_older_ingestion_version_indexed_is_indexed_again(
    api: Api, tenant: Namespace, build: Callable[[], None]
):
    ids = fill(api, 3)
    build()
    assert switching.index_outdated(tenant.pk) == []
    with connections["owner"].cursor() as cursor:
        cursor.execute(
            "UPDATE documents_document SET ingestion_version = 0 WHERE id = %s", [ids[1]]
        )
    assert len(switching.index_outdated(tenant.pk)) == 1
    build()
    assert api.get(f"documents/{ids[1]}").body["ingestion_version"] == 2
    assert len(api.get("jobs").body["results"]) == 4


def test_no_search_is_empty_or_mixed_while_the_pointer_moves_to_and_fro(
    api: Api,
    tenant: Namespace,
    hashing_profile: IndexProfile,
    small_profile: IndexProfile,
    build: Callable[[], None],
):
    fill(api, 8)
    build()
    switching.start(tenant.pk, small_profile)
    build()
    of_chunk = {}
    with namespace(tenant.pk):
        of_chunk = dict(Chunk.objects.values_list("pk", "profile__name"))
    stop = threading.Event()
    seen: Counter[str] = Counter()
    wrong: list[Any] = []

    def ask(number: int) -> None:
        turn = 0
        while not stop.is_set():
            turn += 1
            question = f"oil of light {number} {turn}"
            result = search(tenant.pk, SearchRequest(query=question, k=5))
            profiles = {of_chunk[hit.candidate.chunk_id] for hit in result.hits}
            seen.update(profiles)
            if profiles != {result.diagnostics.profile}:
                wrong.append((question, profiles, result.diagnostics.profile))
        connections.close_all()

    threads = [threading.Thread(target=ask, args=(n,)) for n in range(3)]
    for thread in threads:
        thread.start()
    for _ in range(6):
        time.sleep(0.3)
        switching.switch(tenant.pk)
        time.sleep(0.3)
        switching.roll_back(tenant.pk)
    stop.set()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert min(seen["hashing"], seen["small"]) > 5
