"""A deleted turn leaves no trace, in no table, and no worker brings it back."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connections

from documents.ingestion import pipeline
from documents.models import Chunk, Conversation, Namespace, TermFrequency
from ragsite.database.tenancy import namespace, operator

from ..client import Api
from .test_conversations import CANARY, contents_of, recall, say, spoken


def everything_stored(tenant: Namespace) -> str:
    """All rows of every table that holds something of this namespace, as text."""
    with operator(), connections["operator"].cursor() as cursor:
        cursor.execute(
            "SELECT table_name FROM information_schema.columns "
            "WHERE table_schema = 'public' AND column_name = 'namespace_id'"
        )
        rows = []
        for (table,) in cursor.fetchall():
            cursor.execute(f"SELECT t::text FROM {table} t WHERE namespace_id = %s", [tenant.pk])
            rows += [text for (text,) in cursor.fetchall()]
    return "\n".join(rows)


def test_a_deleted_turn_leaves_no_trace(
    tenant: Namespace, api: Api, work: Callable[[], int], settings: Any
) -> None:
    settings.QUERY_LOG_DAYS = 0
    body = say(api, *(spoken(n, f"I am a {CANARY}" if n == 7 else "") for n in range(12)))
    say(api, spoken(1), session="s2")
    work()
    assert CANARY in everything_stored(tenant)
    assert CANARY in recall(api, CANARY)[0]["content"]
    receipt = api.delete(f"memories/{body['turns'][7]['turn_id']}")
    assert receipt.status == 200
    assert (receipt.body["turns"], receipt.body["conversations"]) == (1, 0)
    assert CANARY not in everything_stored(tenant)
    assert not [hit for hit in recall(api, CANARY) if hit["metadata"]["session"] == "s1"]
    work()
    assert CANARY not in everything_stored(tenant)
    assert len(contents_of(api, "session=s1")) == 11
    assert recall(api, "remark about the harbour", session="s1")
    assert api.delete(f"memories/{body['turns'][7]['turn_id']}").status == 404
    with namespace(tenant.pk):
        assert Namespace.objects.get().chunk_count == Chunk.objects.count()
        assert TermFrequency.objects.filter(lexeme="harbour").exists()


def test_a_worker_that_has_read_a_deleted_turn_does_not_publish_it(
    tenant: Namespace, api: Api, work: Callable[[], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    body = say(api, spoken(1, CANARY), spoken(2))
    publish = pipeline.publish
    deleted = []

    def delete_first(*args: Any, **kwargs: Any) -> bool:
        if not deleted:
            deleted.append(api.delete(f"memories/{body['turns'][0]['turn_id']}").status)
        return publish(*args, **kwargs)

    monkeypatch.setattr(pipeline, "publish", delete_first)
    work()
    assert deleted == [200]
    assert CANARY not in everything_stored(tenant)
    assert len(recall(api, "remark")) == 1


def test_deleting_a_session_or_its_document_deletes_its_turns(
    tenant: Namespace, api: Api, work: Callable[[], int]
) -> None:
    say(api, spoken(1, CANARY), spoken(2, at="2026-03-02T10:00:00Z"), user="u1")
    say(api, spoken(1, "stays"), user="u2")
    work()
    receipt = api.delete("memories?session=s1&user=u1").body
    assert (receipt["turns"], receipt["conversations"]) == (2, 2)
    assert CANARY not in everything_stored(tenant)
    assert contents_of(api) == ["stays"]
    assert api.delete("memories?session=s1&user=u1").status == 404
    assert api.delete("memories").status == 422
    (document,) = api.get("documents").body["results"]
    removed = api.delete(f"documents/{document['id']}")
    assert (removed.status, removed.body["files"]) == (200, 0)
    assert contents_of(api) == []
    with namespace(tenant.pk):
        assert not Conversation.objects.exists()


def test_the_last_turn_takes_its_conversation_along(
    tenant: Namespace, api: Api, work: Callable[[], int]
) -> None:
    turn = say(api, spoken(1, CANARY))["turns"][0]
    work()
    assert api.delete(f"memories/{turn['turn_id']}").body["conversations"] == 1
    assert CANARY not in everything_stored(tenant)
    assert api.get("documents").body["results"] == []
