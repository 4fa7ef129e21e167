"""What happens to a store that does not hold any more what it has confirmed: emptied, an older copy
of its disk, fed by a copy of the database, or changed by hand."""

import uuid
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from django.core.cache import caches
from django.core.management import CommandError, call_command

from documents.models import Chunk, IndexProfile
from documents.stores import feeding, marks, outbox, registry
from documents.stores.base import StoreCollection, StoredPoint
from documents.verification import auditing
from documents.verification.auditing import verify
from ragsite.database.tenancy import namespace, operator

from ..client import Api
from .store_contract import Moved, OutsideStoreContract, assert_same, places

QUESTION = "granite tower and its keepers"


class StoreLossContract(OutsideStoreContract):
    @pytest.fixture(autouse=True)
    def _look_again_at_once(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(marks, "SECOND_LOOK_SECONDS", 0.0)
        monkeypatch.setattr(auditing, "PAUSE_SECONDS", 0.0)

    def test_an_emptied_store_is_not_believed_and_is_filled_again(
        self, moved: Moved, work: Callable[[], int]
    ):
        moved.store.drop(collection_of(moved))
        self.assert_tables_answer(moved)
        call_command("sync_store", "--status")  # which must not make an empty one
        (finding,) = [f for f in verify([moved.tenant]).findings if f.check == "search_store"]
        assert finding.examples == (str(moved.tenant.pk),)
        self.assert_tables_answer(moved)
        moved.api.upload(("news.txt", "A quokka was seen on the quay."))
        work()
        feeding.work()
        assert moved.count() == moved.rows()
        assert moved.assert_alike(QUESTION, mode="semantic") > 0
        assert "quokka" in moved.answer("quokka")["results"][0]["content"]

    def test_an_older_copy_is_not_believed_and_is_filled_again_by_itself(self, moved: Moved):
        held = moved.store.mark(collection_of(moved))
        with namespace(moved.tenant.pk):
            document_id = Chunk.objects.filter(profile=moved.profile).first().document_id  # type: ignore[union-attr]
            outbox.note(moved.tenant.pk, moved.profile.pk, [document_id])
        assert feeding.work() == 1
        feeding.check()
        assert moved.waiting() == 0  # all is well
        assert held
        moved.store.delete(collection_of(moved), moved.tenant.pk, [document_id])
        moved.store.set_mark(collection_of(moved), held)
        self.assert_tables_answer(moved)
        feeding.check()
        assert moved.waiting() > 1
        feeding.work()
        assert moved.count() == moved.rows()
        assert moved.assert_alike(QUESTION, mode="semantic") > 0

    def test_what_a_copy_of_the_database_feeds_is_left_alone(
        self, moved: Moved, capsys: pytest.CaptureFixture[str]
    ):
        collection, before = collection_of(moved), moved.count()
        moved.store.set_mark(collection, "elsewhere/ragsite:7")
        self.assert_tables_answer(moved)
        with namespace(moved.tenant.pk):
            outbox.note(moved.tenant.pk, moved.profile.pk)
        assert feeding.work() == 0
        (backlog,) = outbox.backlogs()
        assert "Set another STORE_PREFIX" in backlog.error
        feeding.check()
        feeding.rebuild_all()
        assert moved.store.mark(collection) == "elsewhere/ragsite:7"
        assert moved.count() == before
        with pytest.raises(CommandError, match="fed by another installation"):
            call_command("sync_store")
        call_command("sync_store", "--rebuild")
        assert moved.count() == moved.rows()
        assert moved.assert_alike(QUESTION, mode="semantic") > 0

    def test_planted_points_never_become_content_and_are_found_by_verify(
        self, moved: Moved, api_of: Callable[..., Api], work: Callable[[], int]
    ):
        api_of(moved.other).upload(("secret.txt", "The granite tower has a secret door."))
        work()
        feeding.work()
        with namespace(moved.other.pk):
            theirs = Chunk.objects.get(profile=moved.profile)
        before = places(moved.answer(QUESTION))
        vector = np.array(theirs.embedding, dtype=np.float32)
        fields = {"document": str(theirs.document_id), "tags": [], "collections": [], "facets": []}
        planted = [
            StoredPoint(pk, vector, {1: 9.0}, fields)  # a tenant's chunk, and one that is none
            for pk in (theirs.pk, uuid.uuid4())
        ]
        moved.store.upsert(collection_of(moved), moved.tenant.pk, planted)
        body = moved.answer("granite tower secret door", explain=True)
        assert str(theirs.pk) not in str(body)
        assert "secret" not in str([hit["content"] for hit in body["results"]])
        assert places(moved.answer(QUESTION)) == before
        (finding,) = [f for f in verify([moved.tenant]).findings if f.check == "search_store"]
        assert finding.examples == (str(moved.tenant.pk),)
        verify([moved.tenant], repair=True)
        feeding.work()
        assert moved.count() == moved.rows()

    def test_a_document_is_in_the_store_all_the_while_it_is_synced(
        self, moved: Moved, monkeypatch: pytest.MonkeyPatch
    ):
        before, seen = moved.count(), []

        def watched(name: str) -> None:
            honest: Any = getattr(moved.store, name)

            def watching(*args: Any) -> None:
                honest(*args)
                seen.append(moved.count())

            monkeypatch.setattr(moved.store, name, watching)

        watched("_upsert")
        watched("_delete")
        with namespace(moved.tenant.pk):
            outbox.note(moved.tenant.pk, moved.profile.pk)
        feeding.work()
        assert len(seen) > 1
        assert min(seen) == moved.count() == before

    def assert_tables_answer(self, moved: Moved) -> None:
        caches["results"].clear()
        body = moved.api.query(QUESTION).body
        assert body["diagnostics"]["fallbacks"] == ["postgres_search: store_stale"]
        assert_same(places(body), places(moved.twin.query(QUESTION).body))


def collection_of(moved: Moved) -> StoreCollection:
    with operator():
        return registry.collection_of(IndexProfile.objects.get(pk=moved.profile.pk))
