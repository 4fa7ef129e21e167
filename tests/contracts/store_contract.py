"""What every search store promises; subclass it and give a `moved` fixture.

The same documents are in two namespaces: one is indexed in the tables, the other in the store. Both
must answer alike, and the store must have been the one that answered.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest
from django.core.cache import caches
from django.core.management import call_command

from documents.accounts import namespace_removal
from documents.ingestion import removal
from documents.models import Chunk, IndexProfile, Namespace, StoreChange
from documents.reindex import switching
from documents.stores import feeding, outbox, registry
from documents.stores.base import SearchStore, StoreFound
from documents.verification import auditing
from documents.verification.auditing import verify
from ragsite.database.tenancy import namespace, operator
from ragsite.platform import metrics
from retrieval.candidates import store_filters

from ..client import Api

QUESTIONS = (
    "granite tower and its keepers",
    "boats longer than twelve metres",
    "ERR_CONN_42",
    "the lamp of light 7",
    "calm seas noted by the keeper",
    '"lamp oil" of the lighthouse',
    "oil -electricity",
)
FILTERS: tuple[dict[str, Any], ...] = (
    {"tags": ["coast"]},
    {"tags": ["trade", "even"]},
    {"tags": {"all": ["coast", "history"]}},
    {"tags": {"none": ["coast"]}},
    {"source_types": ["md"]},
    {"language": ["en"]},
    {"kind": ["code"]},
    {"date_range": ["2020-01-01T00:00:00Z", "2021-01-01T00:00:00Z"]},
    {"metadata": {"author.team": "keepers"}},
    {"metadata": {"number": 3}},
    {"metadata": {"number": {"$in": [3, 4, 5.0]}}},
    {"metadata": {"number": {"$ne": 3}}},
    {"metadata": {"number": {"$gte": 6}}},
    {"metadata": {"ports": "b"}},
    {"metadata": {"$or": [{"number": 2}, {"author.name": "Ada"}]}},
    {"metadata": {"flag": True}, "tags": ["even"]},
    {"tags": ["nobody has this"]},
    {"kind": []},
)


@dataclass(frozen=True)
class Moved:
    """A namespace whose profile is kept in a store, and its twin in the tables."""

    api: Api
    twin: Api
    tenant: Namespace
    profile: IndexProfile
    other: Namespace

    @property
    def store(self) -> SearchStore:
        return registry.store_of(self.profile)

    def count(self, tenant: Namespace | None = None) -> int:
        if not self.profile.is_stored_outside:
            return self.rows(tenant)
        whose = (tenant or self.tenant).pk
        return self.store.count(registry.collection_of(self.profile), whose)

    def rows(self, tenant: Namespace | None = None) -> int:
        whose = (tenant or self.tenant).pk
        with namespace(whose):
            return Chunk.objects.filter(profile=self.profile).count()

    def waiting(self) -> int:
        with operator():
            return StoreChange.objects.count()

    def answer(self, question: str, **options: Any) -> dict[str, Any]:
        """The answer of the store, which must not have fallen back."""
        caches["results"].clear()
        body: dict[str, Any] = self.api.query(question, **options).body
        assert "results" in body, body
        diagnostics = body["diagnostics"]
        assert diagnostics["fallbacks"] == []
        if self.profile.is_stored_outside and options.get("mode") != "lexical":
            assert diagnostics["dense_plan"] == self.profile.store
        return body

    def assert_alike(self, question: str, **options: Any) -> int:
        mine = places(self.answer(question, **options))
        assert_same(mine, places(self.twin.query(question, **options).body))
        return len(mine)


def places(body: dict[str, Any]) -> dict[tuple[Any, ...], float]:
    """Where each hit stands, with its score."""
    assert "results" in body, body
    return {
        (hit["source_uri"], *sorted(hit["span"].items())): hit["scores"]["fused"]
        for hit in body["results"]
    }


def assert_same(
    found: dict[tuple[Any, ...], float], expected: dict[tuple[Any, ...], float]
) -> None:
    """The same places with the same scores; of those that score like the last, any."""
    scores = sorted(found.values()), sorted(expected.values())
    assert scores[0] == pytest.approx(scores[1], abs=1e-4), scores
    worst = min(expected.values(), default=0.0) + 1e-4
    sure = {place: score for place, score in expected.items() if score > worst}
    assert {place: found.get(place) for place in sure} == pytest.approx(sure, abs=1e-4)


class StoreContract:
    @pytest.mark.parametrize("mode", ["hybrid", "semantic", "lexical"])
    def test_it_finds_what_the_tables_find_in_the_same_order(self, moved: Moved, mode: str):
        found = [moved.assert_alike(question, mode=mode) for question in QUESTIONS]
        assert sum(found) > 20

    @pytest.mark.parametrize("listed", [500, -1], ids=["few documents", "conditions"])
    def test_filters_leave_what_they_leave_in_the_tables(
        self, moved: Moved, listed: int, monkeypatch: pytest.MonkeyPatch
    ):
        monkeypatch.setattr(store_filters, "MAX_LISTED", listed)
        found = [
            moved.assert_alike("lamp oil, boats and keepers", filters=filters)
            for filters in FILTERS
        ]
        assert found.count(0) == 2

    def test_collections_are_filters_too(self, moved: Moved, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setattr(store_filters, "MAX_LISTED", -1)
        for api in (moved.api, moved.twin):
            hit = api.query("granite tower").body["results"][0]
            made = api.post("collections", {"name": "towers"}).body
            api.post(f"collections/{made['id']}/documents", {"document_ids": [hit["document_id"]]})
        narrowed = {"filters": {"collection": "towers"}}
        assert moved.assert_alike("lamp oil", **narrowed) > 0
        feeding.work()
        assert moved.assert_alike("lamp oil", **narrowed) > 0

    def test_what_is_deleted_is_gone_at_once_and_then_from_the_store(self, moved: Moved):
        hit = moved.answer("granite tower")["results"][0]
        before = moved.count()
        removal.remove(moved.tenant.pk, hit["document_id"])
        left = {one["document_id"] for one in moved.answer("granite tower")["results"]}
        assert hit["document_id"] not in left
        feeding.work()
        assert moved.count() == moved.rows() < before
        assert moved.waiting() == 0

    def test_a_new_version_is_found_at_once_and_the_old_one_never_again(
        self, moved: Moved, work: Callable[[], int]
    ):
        moved.api.upload(("kitchen.txt", "Simmer the zwieback with saffron for an hour."))
        work()
        for _ in range(2):  # before the store has it, and afterwards
            (best, *_) = moved.answer("zwieback with saffron")["results"]
            assert "zwieback" in best["content"]
            old = moved.answer("knead the dough, bake it at 220 degrees")["results"]
            assert not any("Knead" in hit["content"] for hit in old)
            feeding.work()
        assert moved.count() == moved.rows()

    def test_changed_tags_count_at_once(self, moved: Moved, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setattr(store_filters, "MAX_LISTED", -1)
        hit = moved.answer("granite tower")["results"][0]
        moved.api.patch(f"documents/{hit['document_id']}", {"tags": ["inland"]})
        for _ in range(2):
            inland = moved.answer("granite tower", filters={"tags": ["inland"]})["results"]
            assert {one["document_id"] for one in inland} == {hit["document_id"]}
            coast = moved.answer("granite tower", filters={"tags": ["coast"]})["results"]
            assert hit["document_id"] not in {one["document_id"] for one in coast}
            feeding.work()

    def test_tenants_share_a_store_and_nothing_else(
        self, moved: Moved, api_of: Callable[..., Api], work: Callable[[], int]
    ):
        theirs = api_of(moved.other)
        theirs.upload(("secret.txt", "The granite tower has a secret door behind the stove."))
        work()
        feeding.work()
        assert moved.count(moved.other) == moved.rows(moved.other) == 1
        assert moved.count() == moved.rows()
        mine = moved.answer("granite tower secret door")["results"]
        assert mine
        assert not any("secret" in hit["content"] for hit in mine)
        (only,) = theirs.query("granite tower secret door").body["results"]
        assert "secret" in only["content"]


class OutsideStoreContract(StoreContract):
    """Of stores that may fail apart from the database, and that have to be fed."""

    def test_a_leaked_id_never_becomes_content(
        self,
        moved: Moved,
        api_of: Callable[..., Api],
        work: Callable[[], int],
        monkeypatch: pytest.MonkeyPatch,
    ):
        api_of(moved.other).upload(("secret.txt", "The granite tower has a secret door."))
        work()
        feeding.work()
        with namespace(moved.other.pk):
            (leaked,) = Chunk.objects.filter(profile=moved.profile).values_list("pk", flat=True)
        honest = moved.store._search

        def leaking(*args: Any, **kwargs: Any) -> StoreFound:
            found = honest(*args, **kwargs)
            return replace(
                found,
                dense=[(leaked, 1.0), *found.dense],
                words=[(leaked, 99.0), *found.words],
            )

        monkeypatch.setattr(moved.store, "_search", leaking)
        body = moved.answer("granite tower secret door", explain=True)
        assert body["results"]
        assert str(leaked) not in str(body)
        assert "secret door" not in str(body["results"])

    @pytest.mark.parametrize("state", ["shut", "silent"])
    def test_in_an_outage_the_tables_answer_and_the_answer_says_so(
        self, moved: Moved, door: Any, state: str, work: Callable[[], int], settings: Any
    ):
        settings.STORE_SEARCH = {**settings.STORE_SEARCH, "seconds": 0.5}
        expected = places(moved.twin.query("granite tower and its keepers").body)
        door.become(state)
        for _ in range(4):  # the third finds the breaker open, and asks nobody
            body = moved.api.query("granite tower and its keepers").body
            assert_same(places(body), expected)
            assert body["diagnostics"]["fallbacks"] == ["postgres_search: store_unavailable"]
        # Nothing is lost meanwhile, and nothing waits for the store.
        moved.api.upload(("news.txt", "A quokka was seen on the quay."))
        work()
        assert feeding.work(seconds=5) == 0
        assert "quokka" in moved.api.query("quokka").body["results"][0]["content"]
        (backlog,) = outbox.backlogs()
        assert backlog.documents == 1
        assert backlog.attempts >= 1
        assert "answer" in backlog.error
        door.become("open")
        settings.STORE_SEARCH = {**settings.STORE_SEARCH, "seconds": 20.0}
        registry.breaker(moved.profile.store).worked()
        assert feeding.work() == 0  # not before the pause has passed
        outbox.retry_now()
        assert feeding.work() == 1
        assert moved.count() == moved.rows()
        assert "quokka" in moved.answer("quokka")["results"][0]["content"]

    def test_what_a_killed_worker_had_begun_is_synced_by_another(
        self, moved: Moved, monkeypatch: pytest.MonkeyPatch, settings: Any
    ):
        before = moved.count()
        feeding.rebuild(moved.tenant.pk, moved.profile)
        assert moved.count() == 0
        honest, calls = moved.store._upsert, []

        def killed(*args: Any) -> None:
            calls.append(1)
            honest(*args)
            raise KeyboardInterrupt

        monkeypatch.setattr(moved.store, "_upsert", killed)
        with pytest.raises(KeyboardInterrupt):
            feeding.work()
        monkeypatch.undo()
        waiting = moved.waiting()
        assert calls
        assert waiting
        assert feeding.work() == 0  # the dead worker's lease has not run out
        with operator():
            StoreChange.objects.update(lease_until="2020-01-01T00:00:00Z")
        assert feeding.work() == waiting
        assert moved.count() == moved.rows() == before
        assert moved.waiting() == 0

    def test_a_document_that_changes_while_it_is_synced_is_synced_again(
        self, moved: Moved, monkeypatch: pytest.MonkeyPatch
    ):
        with namespace(moved.tenant.pk):
            document_id = Chunk.objects.filter(profile=moved.profile).first().document_id  # type: ignore[union-attr]
            outbox.note(moved.tenant.pk, moved.profile.pk, [document_id])
        honest = moved.store._upsert

        def slow(*args: Any) -> None:
            honest(*args)
            monkeypatch.undo()
            moved.api.patch(f"documents/{document_id}", {"tags": ["changed meanwhile"]})

        monkeypatch.setattr(moved.store, "_upsert", slow)
        claim = outbox.claim(moved.tenant.pk, moved.profile.pk)
        assert claim is not None
        feeding._deliver(claim)
        assert moved.waiting() == 1
        assert feeding.work() == 1

    def test_too_long_a_backlog_is_left_to_the_tables(self, moved: Moved, settings: Any):
        settings.STORE_SEARCH = {**settings.STORE_SEARCH, "pending": 3}
        feeding.rebuild(moved.tenant.pk, moved.profile)
        body = moved.api.query("granite tower and its keepers").body
        assert body["diagnostics"]["fallbacks"] == ["postgres_search: store_behind"]
        assert_same(places(body), places(moved.twin.query("granite tower and its keepers").body))

    def test_verify_finds_what_a_store_has_lost_and_mends_it(
        self, moved: Moved, monkeypatch: pytest.MonkeyPatch
    ):
        monkeypatch.setattr(auditing, "PAUSE_SECONDS", 0.0)
        assert [f.what for f in verify([moved.tenant]).findings if f.check == "search_store"] == []
        collection = registry.collection_of(moved.profile)
        with namespace(moved.tenant.pk):
            lost = next(iter(Chunk.objects.filter(profile=moved.profile)[:1])).document_id
        moved.store.delete(collection, moved.tenant.pk, [lost])
        (finding,) = [
            f for f in verify([moved.tenant], repair=True).repaired if f.check == "search_store"
        ]
        assert finding.examples == (str(lost),)
        feeding.work()
        assert moved.count() == moved.rows()

    def test_sync_store_writes_what_waits_and_says_how_it_is(
        self, moved: Moved, capsys: pytest.CaptureFixture[str]
    ):
        call_command("sync_store", "--rebuild", "--namespace", moved.tenant.slug)
        assert "0 documents waiting" in capsys.readouterr().out
        call_command("sync_store", "--status", "--json")
        (status,) = json.loads(capsys.readouterr().out)
        assert status["held"] == status["chunks"] == moved.rows()
        assert status["waiting"] == 0
        assert status["problem"] == ""
        assert status["version"]

    def test_a_deleted_namespace_is_forgotten(self, moved: Moved):
        with operator():
            namespace_removal.remove_namespace(moved.tenant)
        feeding.work()
        assert moved.count() == 0
        assert moved.waiting() == 0

    def test_a_live_namespace_moves_there_and_back_and_embeds_nothing(
        self, moved: Moved, build: Callable[[], None]
    ):
        twin = moved.twin
        with operator():
            tenant = Namespace.objects.get(slug="twin")
        home = IndexProfile.objects.using("owner").get(name="hashing")
        expected = places(twin.query("lamp oil", mode="semantic").body)
        embedded = metrics.EMBEDDING_CALLS.labels("documents")._value.get()
        switching.start(tenant.pk, moved.profile)
        build()
        switching.switch(tenant.pk)
        assert moved.count(tenant) == moved.rows(tenant) > 10
        body = twin.query("lamp oil", mode="semantic").body
        assert body["diagnostics"]["dense_plan"] == moved.profile.store
        assert_same(places(body), expected)
        switching.roll_back(tenant.pk)
        assert_same(places(twin.query("lamp oil", mode="semantic").body), expected)
        switching.switch(tenant.pk)
        switching.reclaim(tenant.pk)
        switching.sweep(tenant.pk)
        switching.start(tenant.pk, home)
        build()
        switching.switch(tenant.pk)
        switching.reclaim(tenant.pk)
        switching.sweep(tenant.pk)
        feeding.work()
        assert moved.count(tenant) == 0
        body = twin.query("lamp oil", mode="semantic").body
        assert body["diagnostics"]["dense_plan"] == "exact"
        assert_same(places(body), expected)
        assert metrics.EMBEDDING_CALLS.labels("documents")._value.get() == embedded
