"""Turns of conversations: stored once, searchable with their date and speakers, deletable."""

import threading
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from django.db import connections

from documents.conversations.remembering import NewTurn, remember
from documents.models import (
    Chunk,
    Document,
    DocumentVersion,
    EmbeddingCache,
    Namespace,
    Turn,
)
from ragsite.database.tenancy import namespace
from retrieval.candidates import legs

from ..client import Api

CANARY = "xylophonist"


def spoken(number: int, content: str = "", **fields: Any) -> dict[str, Any]:
    speaker = "Ada" if number % 2 else "Grace"
    return {
        "role": "user" if number % 2 else "assistant",
        "speaker": speaker,
        "content": content or f"Remark number {number} about the harbour and its lights.",
        "at": f"2026-03-01T10:{number:02}:00Z",
        **fields,
    }


def say(api: Api, *turns: dict[str, Any], session: str = "s1", **fields: Any) -> Any:
    answer = api.post("memories", {"session": session, "turns": list(turns), **fields})
    assert answer.status in (200, 202), answer.body
    return answer.body


def recall(api: Api, question: str, **fields: Any) -> list[dict[str, Any]]:
    answer = api.post("memories/search", {"query": question, **fields})
    assert answer.status == 200, answer.body
    results: list[dict[str, Any]] = answer.body["results"]
    return results


def contents_of(api: Api, query: str = "") -> list[str]:
    return [turn["content"] for turn in api.get(f"memories?{query}").body["results"]]


def test_turns_become_dated_passages_whose_spans_are_exact(
    api: Api, work: Callable[[], int]
) -> None:
    body = say(api, *(spoken(number, id=f"turn-{number}") for number in range(10)))
    assert (body["added"], body["indexed"]) == (10, False)
    work()
    (best, *_) = recall(api, "remark about the harbour", k=3)
    assert best["title"] == "Conversation, Sunday, 1 March 2026"
    assert best["section"] == "Grace, Ada"
    assert best["source_uri"] == "conversation:s1/2026-03-01"
    text = api.get(f"documents/{best['document_id']}/text").body["text"]
    assert text[best["span"]["start"] : best["span"]["end"]] == best["content"]
    turns = best["chunk_metadata"]["turns"]
    assert len(turns) > 2
    for turn in turns:
        stored = api.get(f"memories/{turn['turn']}").body
        assert text[turn["start"] : turn["end"]] == f"{turn['speaker']}: {stored['content']}"
        assert stored["speaker"] == turn["speaker"]
        assert stored["role"] == turn["role"]
        assert stored["external_id"] == turn["external_id"]
    ids = [turn["turn_id"] for turn in body["turns"]]
    assert {turn["turn"] for turn in turns} <= set(ids)
    original = api.get(f"documents/{best['document_id']}/original")
    assert original.body.decode() == text


def test_the_same_turn_again_is_a_duplicate(api: Api, work: Callable[[], int]) -> None:
    first = say(api, spoken(1), spoken(2))
    work()
    again = say(api, spoken(1), spoken(2), spoken(1))
    assert (again["added"], again["duplicates"], again["indexed"]) == (0, 3, True)
    assert work() == 0
    assert [t["turn_id"] for t in again["turns"][:2]] == [t["turn_id"] for t in first["turns"]]
    assert len(contents_of(api)) == 2


def test_a_retry_without_a_date_is_no_repetition(api: Api) -> None:
    undated = {"role": "user", "content": "Hello there"}
    assert say(api, undated)["added"] == 1
    assert say(api, undated)["duplicates"] == 1
    assert say(api, undated, session="another")["added"] == 1


def test_a_known_id_with_other_words_replaces_the_turn(api: Api, work: Callable[[], int]) -> None:
    say(api, spoken(1, CANARY, id="m-1"), spoken(2))
    work()
    changed = say(api, spoken(1, "something else", id="m-1"))
    assert (changed["updated"], changed["added"]) == (1, 0)
    work()
    assert contents_of(api) == ["something else", spoken(2)["content"]]
    assert not [hit for hit in recall(api, CANARY) if CANARY in hit["content"]]
    moved = say(api, spoken(1, "something else", id="m-1", at="2026-04-01T08:00:00Z"))
    assert moved["updated"] == 1
    assert [turn["day"] for turn in api.get("memories/conversations").body["results"]] == [
        "2026-04-01",
        "2026-03-01",
    ]


def test_a_day_that_its_last_turn_has_left_is_removed(api: Api, work: Callable[[], int]) -> None:
    say(api, spoken(1, id="only"))
    work()
    say(api, spoken(1, id="only", at="2026-04-01T08:00:00Z"))
    work()
    (day,) = api.get("memories/conversations").body["results"]
    assert (day["day"], day["turns_count"], day["status"]) == ("2026-04-01", 1, "ready")
    assert len(api.get("documents").body["results"]) == 1


def test_turns_are_ordered_by_their_date_however_they_arrive(
    api: Api, work: Callable[[], int]
) -> None:
    say(api, spoken(5, "five"), spoken(3, "three"))
    say(api, spoken(4, "four"), spoken(4, "four again"))
    work()
    assert contents_of(api, "session=s1") == ["three", "four", "four again", "five"]
    (document,) = api.get("documents?source_type=conversation").body["results"]
    text = api.get(f"documents/{document['id']}/text").body["text"]
    assert text.split("\n") == ["Ada: three", "Grace: four", "Grace: four again", "Ada: five"]


def test_turns_are_listed_page_by_page_and_filtered(api: Api) -> None:
    say(api, *(spoken(number, f"n{number}") for number in range(5)), user="u1")
    say(api, spoken(9, "other"), session="s2", user="u2")
    first = api.get("memories?limit=2&user=u1").body
    assert [turn["content"] for turn in first["results"]] == ["n0", "n1"]
    cursor = first["next"].partition("cursor=")[2].partition("&")[0]
    following = api.get(f"memories?limit=2&user=u1&cursor={cursor}").body["results"]
    assert [turn["content"] for turn in following] == ["n2", "n3"]
    assert contents_of(api, "session=s2") == ["other"]
    assert contents_of(api, "role=assistant") == ["n0", "n2", "n4"]
    assert contents_of(api, "speaker=Ada&user=u1") == ["n1", "n3"]
    assert contents_of(api, "from=2026-03-01T10:03:00Z&to=2026-03-01") == ["n3", "n4", "other"]
    assert api.get("memories?from=yesterday").status == 422
    assert api.get("memories?colour=red").status == 422


def test_appending_embeds_only_the_end(
    tenant: Namespace, api: Api, work: Callable[[], int]
) -> None:
    say(api, *(spoken(number) for number in range(40)))
    work()
    with namespace(tenant.pk):
        cached = EmbeddingCache.objects.count()
        passages = Chunk.objects.count()
    say(api, spoken(41))
    work()
    with namespace(tenant.pk):
        assert EmbeddingCache.objects.count() - cached <= 2
        assert Chunk.objects.count() - passages <= 1
        assert DocumentVersion.objects.count() == 1  # of how it was, nothing is kept
        assert Turn.objects.count() == 41


def test_users_and_days_are_kept_apart(api: Api, work: Callable[[], int]) -> None:
    say(api, spoken(1, "my secret"), user="u1")
    say(api, spoken(1, "my secret"), user="u2")
    say(api, spoken(1, "another secret", at="2026-03-02T10:00:00Z"), user="u1")
    work()
    found = api.get("memories/conversations?user=u1").body["results"]
    assert {(day["session"], day["day"]) for day in found} == {
        ("s1", "2026-03-01"),
        ("s1", "2026-03-02"),
    }
    assert {hit["metadata"]["user"] for hit in recall(api, "secret", user="u2")} == {"u2"}
    assert len(recall(api, "secret", user="u1")) == 2


def test_a_date_range_reaches_into_a_day(api: Api, work: Callable[[], int]) -> None:
    say(api, *(spoken(number, f"lights at {number}") for number in range(30)))
    say(api, spoken(1, "lights tomorrow", at="2026-03-02T10:00:00Z"))
    work()
    late = recall(api, "lights", date_range=["2026-03-01T10:28:00Z", "2026-03-01"])
    assert late
    for hit in late:
        times = [turn["at"] for turn in hit["chunk_metadata"]["turns"]]
        assert max(times) >= "2026-03-01T10:28:00Z"
        assert min(times) < "2026-03-02"
    (tomorrow,) = recall(api, "lights", date_range=["2026-03-02", None])
    assert "tomorrow" in tomorrow["content"]
    assert recall(api, "lights", date_range=["2026-03-03", None]) == []


def test_passages_are_found_by_who_speaks_in_them(api: Api, work: Callable[[], int]) -> None:
    say(api, *(spoken(number, f"lights {number}", speaker="Ada") for number in range(12)))
    say(api, spoken(50, "lights, says Grace"))
    say(api, spoken(1, "lights elsewhere", speaker="", role="tool"), session="s2")
    work()
    for hit in recall(api, "lights", speakers=["Grace"]):
        assert "Grace: lights, says Grace" in hit["content"]
    (tool,) = recall(api, "lights", roles=["tool"])
    assert tool["content"] == "Tool: lights elsewhere"
    assert recall(api, "lights", speakers=["Nobody"]) == []


def test_query_leaves_conversations_out_unless_it_asks_for_them(
    api: Api, work: Callable[[], int]
) -> None:
    say(api, spoken(1, "The harbour opens at nine."), user="u1")
    work()
    lonely = api.query("harbour").body
    assert lonely["results"] == []
    assert any(n.startswith("conversations_left_out") for n in lonely["diagnostics"]["notes"])
    api.upload(("harbour.md", "# Harbour\n\nThe harbour has twelve lights.\n"))
    work()

    def kinds(**filters: Any) -> set[str]:
        results = api.query("harbour", filters=filters).body["results"]
        return {hit["source_uri"].partition(":")[0] for hit in results}

    assert kinds() == {"upload"}
    assert kinds(include_conversations=True) == {"upload", "conversation"}
    assert kinds(source_types=["conversation"]) == {"conversation"}
    assert kinds(metadata={"session": "s1"}) == {"conversation"}
    assert kinds(metadata={"user": "u1"}) == {"conversation"}
    assert kinds(metadata={"user": "u2"}) == set()
    assert kinds(metadata={"$not": {"user": "u2"}}) == {"upload"}


def test_another_tenant_sees_and_deletes_nothing(
    api: Api, api_of: Callable[..., Api], other_tenant: Namespace, work: Callable[[], int]
) -> None:
    turn = say(api, spoken(1, CANARY))["turns"][0]["turn_id"]
    stranger = api_of(other_tenant)
    twin = say(stranger, spoken(1, CANARY))["turns"][0]["turn_id"]
    work()
    assert twin != turn
    assert stranger.get(f"memories/{turn}").status == 404
    assert stranger.delete(f"memories/{turn}").status == 404
    assert stranger.delete("memories?session=s1").status == 200
    assert contents_of(api) == [CANARY]
    assert recall(stranger, CANARY) == []
    assert contents_of(stranger) == []


def test_what_cannot_be_a_turn_is_refused(api: Api) -> None:
    def refusal(turn: dict[str, Any], **fields: Any) -> int:
        return api.post("memories", {"turns": [turn], **fields}).status

    assert refusal(spoken(1)) == 422  # no session
    assert refusal({**spoken(1), "content": "  "}, session="s") == 422
    assert refusal({**spoken(1), "content": 7}, session="s") == 422
    assert refusal({**spoken(1), "mood": "glad"}, session="s") == 422
    assert refusal({**spoken(1), "at": "soon"}, session="s") == 422
    assert api.post("memories", {"session": "s", "turns": []}).status == 422
    assert refusal({**spoken(1), "content": "a\x00b"}, session="s") == 202
    assert contents_of(api) == ["ab"]


def test_no_upload_can_pose_as_a_conversation(api: Api, work: Callable[[], int]) -> None:
    say(api, spoken(1, "said once"))
    work()
    (document,) = api.get("documents").body["results"]
    item = {"content": "never said", "source_uri": document["source_uri"]}
    assert api.post("ingest", {"documents": [item]}).code == "source_uri_taken"
    typed = {"content": "never said", "media_type": document["media_type"]}
    assert api.post("ingest", {"documents": [typed]}).code == "unsupported_type"
    changed = api.patch(f"documents/{document['id']}", {"source_uri": "elsewhere"})
    assert changed.code == "source_uri_taken"
    # Nor is a text with the same words taken for one.
    same = api.post("ingest", {"documents": [{"content": "Ada: said once"}]}).body["results"][0]
    assert same["duplicate"] is False


def test_a_long_turn_is_cut_and_found(api: Api, work: Callable[[], int]) -> None:
    long = " ".join(f"word{number}" for number in range(5000)) + " lighthouse"
    say(api, spoken(1, long), spoken(2))
    work()
    (best, *_) = recall(api, "lighthouse", k=1, mode="lexical")
    assert "lighthouse" in best["content"]
    assert len(best["content"]) < len(long)


def test_concurrent_writers_of_one_session_lose_no_turn(
    tenant: Namespace, api: Api, work: Callable[[], int]
) -> None:
    failures: list[Exception] = []

    def write(first: int) -> None:
        try:
            for number in range(first, first + 5):
                at = datetime(2026, 3, 1, 10, number, tzinfo=UTC)
                shared = NewTurn("s1", "user", "shared", at=datetime(2026, 3, 1, tzinfo=UTC))
                remember(tenant.pk, [NewTurn("s1", "user", f"n{number}", at=at), shared])
        except Exception as error:
            failures.append(error)
        finally:
            connections.close_all()

    threads = [threading.Thread(target=write, args=(5 * n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    work()
    assert contents_of(api) == ["shared", *(f"n{number}" for number in range(20))]
    (document,) = api.get("documents").body["results"]
    text = api.get(f"documents/{document['id']}/text").body["text"]
    assert len(text.split("\n")) == 21


def test_conversations_follow_to_another_profile(
    tenant: Namespace,
    api: Api,
    work: Callable[[], int],
    build: Callable[[], None],
    small_profile: Any,
) -> None:
    from documents.reindex import switching

    say(api, *(spoken(number) for number in range(12)))
    work()
    with namespace(tenant.pk):
        before = sorted(Chunk.objects.values_list("content", flat=True))
    switching.start(tenant.pk, small_profile)
    build()
    with namespace(tenant.pk):
        chunks = Chunk.objects.filter(profile=small_profile)
        assert sorted(chunks.values_list("content", flat=True)) == before
        assert Document.objects.get().status == "ready"


def test_turns_around_a_passage_are_shown_once(api: Api, work: Callable[[], int]) -> None:
    say(api, *(spoken(n, "the beacon" if n == 20 else f"remark {n}") for n in range(40)))
    work()
    plain, wide = (
        recall(api, "beacon", k=1, mode="lexical", around=around)[0] for around in (0, 4)
    )
    text = api.get(f"documents/{wide['document_id']}/text").body["text"]
    assert text[wide["span"]["start"] : wide["span"]["end"]] == wide["content"]
    assert plain["content"] in wide["content"]
    shown = len(wide["chunk_metadata"]["turns"])
    assert shown - len(plain["chunk_metadata"]["turns"]) in (4, 8)
    assert wide["content"].count("\n") == shown - 1
    many = recall(api, "remark", k=5, around=50)
    seen = [turn["turn"] for hit in many for turn in hit["chunk_metadata"]["turns"]]
    assert len(set(seen)) == 40


def test_names_of_speakers_are_left_out_of_what_is_embedded(
    api: Api, tenant: Namespace, work: Callable[[], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    say(api, spoken(1), spoken(2), user="u1")
    say(api, spoken(3, speaker="Will Harper"), user="u2")
    say(api, {"role": "user", "content": "The tide is low."}, user="u1", session="s2")
    work()
    embedded: list[str] = []
    real = legs.embed_question

    def noting(index: Any, text: str) -> Any:
        embedded.append(text)
        return real(index, text)

    monkeypatch.setattr(legs, "embed_question", noting)
    for question, user in (
        ("What does Ada say about Grace's harbour?", "u1"),
        ("What will Will Harper do, and when does Will leave?", "u2"),
        ("What does Will Harper say about the harbour?", "u1"),  # nobody of that name speaks there
        ("Who is Ada?", "u1"),
        ("What did the User say about the tide?", "u1"),
    ):
        recall(api, question, user=user)
    api.query("What does Ada say about the harbour?", filters={"include_conversations": True})
    assert embedded == [
        "What does say about harbour?",
        "What will do, and when does leave?",
        "What does Will Harper say about the harbour?",
        "Who is Ada?",
        "What did the User say about the tide?",
        "What does Ada say about the harbour?",
    ]


def test_more_is_shown_of_conversations_than_of_documents_by_default(
    api: Api, work: Callable[[], int], settings: Any
) -> None:
    settings.SEARCH = {**settings.SEARCH, "token_budget": 100, "conversation_token_budget": 900}
    for day in range(1, 4):
        at = (f"2026-03-{day:02}T10:{minute:02}:00Z" for minute in range(30))
        say(api, *(spoken(n, at=moment) for n, moment in enumerate(at)), session=f"s{day}")
    work()
    shown = api.post("memories/search", {"query": "remark about the harbour", "k": 3}).body
    assert 600 < shown["context"]["tokens"] <= 900
    asked = api.query("remark about the harbour", filters={"include_conversations": True})
    assert asked.body["context"]["tokens"] <= 100


def test_turns_fill_the_token_budget(api: Api, work: Callable[[], int]) -> None:
    """Without `around`: as many turns as the budget has room for, up to whole sessions."""
    for session in ("s1", "s2", "s3"):
        words = "the beacon was lit" if session == "s2" else "a remark on the weather"
        say(api, *(spoken(n, f"{words}, number {n}", session=session) for n in range(30)))
    work()
    question = {"query": "when was the beacon lit?", "k": 3}

    def found(budget: int, **fields: Any) -> dict[str, Any]:
        body = {**question, "token_budget": budget, **fields}
        answer = api.post("memories/search", body)
        assert answer.status == 200, answer.body
        return dict(answer.body)

    def turns_in(answer: dict[str, Any]) -> int:
        return sum(len(hit["chunk_metadata"]["turns"]) for hit in answer["results"])

    sizes = []
    for budget in (400, 900, 100_000):
        answer = found(budget)
        assert answer["context"]["tokens"] <= budget
        assert all(drop["reason"] != "token_budget" for drop in answer["diagnostics"]["dropped"])
        sizes.append(turns_in(answer))
    assert sizes[0] < sizes[1] < sizes[2] == 90  # in the end each session as a whole
    assert len(found(100_000)["results"]) == 3
    narrow = found(100_000, around=0)
    assert turns_in(narrow) < sizes[2]
    assert found(100_000, around=None)["results"] == found(100_000)["results"]
    # Too small even for the passages alone: the best that fit.
    assert 1 <= len(found(120)["results"]) < 3
