"""The lexical leg on a real PostgreSQL: BM25 to the digit, and what people type."""

import math
import uuid
from collections import Counter
from collections.abc import Callable
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connections

from documents.ingestion import terms
from documents.models import IndexProfile, Namespace, TermFrequency, TermStatistics
from ragsite.database.tenancy import namespace, operator

from ..client import Api

NOTES = {
    "errors.md": "# Errors\n\nERR_CONN_42 comes from getUserById in user_service.py v2.1.3.",
    "languages.md": "# Tools\n\nWritten in C++ and C#, served by node.js behind nginx.",
    "auth.md": "# Access\n\nAuthentication needs an authorised key. Authors may revoke it.",
    "cafe.md": "# Menu\n\nThe café serves crème brûlée and a naïve salad.",
    "tower.md": "# Tower\n\nThe granite tower stands. A tower of granite is heavy.",
}


@pytest.fixture
def notes(api: Api, work: Callable[[], int]) -> Api:
    api.upload(*NOTES.items())
    assert work() == len(NOTES)
    return api


def found(api: Api, question: str, **options: Any) -> list[str]:
    body = api.query(question, mode="lexical", **options).body
    return [hit["source_uri"].removeprefix("upload:") for hit in body["results"]]


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("ERR_CONN_42", "errors.md"),
        ("err conn 42", "errors.md"),
        ("errconn42", "errors.md"),
        ("getUserById", "errors.md"),
        ("getuserbyid", "errors.md"),
        ("user_service", "errors.md"),
        ("v2.1.3", "errors.md"),
        ("C++", "languages.md"),
        ("c#", "languages.md"),
        ("nodejs", "languages.md"),
        ("node js", "languages.md"),
        ("cafe", "cafe.md"),
        ("CAFÉ", "cafe.md"),
        ("creme brulee", "cafe.md"),
        ("authenticating", "auth.md"),
        ("revok*", "auth.md"),
    ],
)
def test_words_are_found_however_they_are_typed(notes: Api, question: str, expected: str):
    assert found(notes, question)[0] == expected


def test_a_language_is_not_taken_for_its_letter(notes: Api):
    assert found(notes, "C++") == ["languages.md"]


def test_a_phrase_must_stand_as_quoted(notes: Api):
    assert found(notes, '"granite tower"') == ["tower.md"]
    assert found(notes, '"tower granite"') == []
    assert found(notes, "tower granite") == ["tower.md"]


def test_a_phrase_that_nobody_wrote_gives_way_to_its_words_in_a_longer_question(notes: Api):
    body = notes.query('how high is the "tower granite" -harbour', mode="lexical").body
    assert body["results"][0]["source_uri"].endswith("tower.md")
    assert body["diagnostics"]["notes"][0].startswith("phrase_not_found")
    assert notes.query('the high "granite tower"').body["diagnostics"]["notes"] == []


@pytest.mark.parametrize("mode", ["hybrid", "semantic", "lexical"])
def test_phrases_and_exclusions_bind_every_mode(notes: Api, mode: str):
    for question, kept in (('the "authorised key"', {"auth.md"}), ("needs -authorised", set())):
        body = notes.query(question, mode=mode, explain=True).body
        titles = {hit["source_uri"].removeprefix("upload:") for hit in body["results"]}
        assert "auth.md" in titles if kept else "auth.md" not in titles
        assert titles <= kept or not kept


def test_what_an_exclusion_takes_away_says_so(notes: Api):
    body = notes.query("granite -tower").body
    reasons = {entry["reason"] for entry in body["diagnostics"]["dropped"]}
    assert "query_syntax" in reasons


def test_a_prefix_finds_every_word_that_begins_so(notes: Api):
    body = notes.query("auth*", mode="lexical", explain=True, highlight=True).body
    hit = body["results"][0]
    text = notes.get(f"documents/{hit['document_id']}/text").body["text"]
    marked = {text[span["start"] : span["end"]] for span in hit["highlights"]}
    assert {"Authentication", "authorised", "Authors"} <= marked
    assert body["diagnostics"]["terms"][-1]["term"] == "auth*"


def test_highlights_are_spans_of_the_words_that_matched(notes: Api):
    body = notes.query("granite towers getUserById", mode="lexical", highlight=True).body
    marked = set()
    for hit in body["results"]:
        text = notes.get(f"documents/{hit['document_id']}/text").body["text"]
        spans = hit["highlights"]
        assert spans == sorted(spans, key=lambda span: span["start"])
        marked |= {text[span["start"] : span["end"]] for span in spans}
    assert {"granite", "tower", "getUserById"} <= marked
    assert notes.query("granite").body["results"][0]["highlights"] == []


def test_the_score_is_bm25_to_the_digit(notes: Api, tenant: Namespace):
    """Computed by hand from PostgreSQL's own lexemes: the tables are what the formula says."""
    with connections["owner"].cursor() as cursor:
        cursor.execute("SELECT chunk_id, search_vector::text FROM documents_chunkterms")
        rows = cursor.fetchall()
    chunks = {pk: _parsed(vector) for pk, vector in rows}
    held = Counter(word for words in chunks.values() for word in words)
    average = 60 * terms.STEMS_PER_TOKEN  # of the tests' profile
    body = notes.query("granite tower key", mode="lexical", explain=True).body
    assert body["diagnostics"]["candidates"]
    for candidate in body["diagnostics"]["candidates"]:
        words = chunks[uuid.UUID(candidate["chunk_id"])]
        length = sum(weight for weight, is_extra in words.values() if not is_extra)
        expected = 0.0
        for word in ("granit", "tower", "key"):
            if word in words:
                times = words[word][0]
                idf = math.log(1 + (len(chunks) - held[word] + 0.5) / (held[word] + 0.5))
                saturation = 1.2 * (0.25 + 0.75 * length / average)
                expected += idf * times * 2.2 / (times + saturation)
        assert candidate["scores"]["lexical"] == pytest.approx(expected, rel=1e-4)
        parts = sum(term["score"] for term in candidate["terms"])
        assert parts == pytest.approx(expected, rel=1e-3)


def _parsed(vector: str) -> dict[str, tuple[int, bool]]:
    """{'word': (how much it counts, whether it is another way to write one)}"""
    words: dict[str, tuple[int, bool]] = {}
    for entry in vector.split(" "):
        word, _, places = entry.rpartition(":")
        marks = places.split(",")
        weight = sum(2 if mark.endswith("A") else 1 for mark in marks)
        words[word.strip("'")] = (weight, all(mark.endswith("C") for mark in marks))
    return words


def test_a_word_said_twice_counts_twice(notes: Api):
    once = notes.query("granite", mode="lexical").body["results"][0]["scores"]["lexical"]
    twice = notes.query("granite, granite", mode="lexical").body["results"][0]["scores"]["lexical"]
    assert twice == pytest.approx(2 * once, rel=1e-3)


def test_counts_are_of_one_namespace_and_made_again_as_it_grows(
    notes: Api, tenant: Namespace, api: Api, work: Callable[[], int]
):
    def count_of(word: str) -> int:
        with namespace(tenant.pk):
            return TermFrequency.objects.get(namespace=tenant, lexeme=word).chunks

    assert count_of("granit") == 1
    api.upload(*((f"more{n}.md", f"# More\n\nGranite number {n}.") for n in range(6)))
    work()
    assert count_of("granit") == 7
    with namespace(tenant.pk):
        statistics = TermStatistics.objects.get(namespace=tenant)
    assert statistics.chunks == len(NOTES) + 6
    assert "english" in statistics.configurations


def test_a_new_word_is_found_before_it_is_counted(
    notes: Api, tenant: Namespace, work: Callable[[], int]
):
    notes.upload(("new.md", "# New\n\nThe zeugma is new."))
    work()
    with namespace(tenant.pk):
        assert not TermFrequency.objects.filter(lexeme="zeugma").exists()
    assert found(notes, "the zeugma of a tower")[0] == "new.md"


def test_uncounted_words_leave_plain_full_text_and_say_so(notes: Api, tenant: Namespace):
    with namespace(tenant.pk):
        TermStatistics.objects.all().delete()
    for mode in ("hybrid", "lexical"):
        body = notes.query("granite tower", mode=mode).body
        assert body["results"][0]["source_uri"] == "upload:tower.md"
        assert body["diagnostics"]["fallbacks"] == ["plain_full_text: words_not_counted"]


def test_documents_of_several_languages_are_each_found_by_their_own_stems(
    api: Api, work: Callable[[], int]
):
    german = "Die Häuser am Hafen wurden von den Fischern gebaut und später von Seeleuten bewohnt."
    chinese = "灯塔建于一八九二年，塔身由花岗岩砌成，每十秒钟旋转一次。"
    api.upload(
        ("haus.md", f"# Häuser\n\n{german}"),
        ("tower.md", "# Towers\n\nThe towers were built from granite by the fishermen of old."),
        ("deng.md", f"# 灯塔\n\n{chinese}"),
    )
    assert work() == 3
    languages = {d["source_uri"]: d["language"] for d in api.get("documents").body["results"]}
    assert languages == {"upload:haus.md": "de", "upload:tower.md": "en", "upload:deng.md": "zh"}
    assert found(api, "Haus")[0] == "haus.md"
    assert found(api, "tower")[0] == "tower.md"
    assert found(api, "花岗岩")[0] == "deng.md"
    assert found(api, '"塔身由花岗岩"') == ["deng.md"]
    assert found(api, "Haus tower 灯塔", filters={"language": ["de"]}) == ["haus.md"]


def test_nobody_sees_candidates_without_a_namespace(notes: Api):
    with connections["default"].cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM ragsite.lexical_candidates("
            "'granit'::tsquery, '{}/1000000000'::sparsevec, "
            "(SELECT id FROM documents_indexprofile WHERE name = 'hashing'), NULL, NULL, 10)"
        )
        assert cursor.fetchone()[0] == 0


def test_a_namespace_can_be_fixed_to_one_language(
    hashing_profile: IndexProfile, api_of: Callable[..., Api], work: Callable[[], int]
):
    call_command("namespace", "create", "hafen", "--language", "de", stdout=StringIO())
    with operator():
        tenant = Namespace.objects.get(slug="hafen")
        tenant.active_profile = IndexProfile.objects.get(name="hashing")
        tenant.save()
    api = api_of(tenant)
    api.upload(("kurz.md", "# Kurz\n\nHäuser"))
    work()
    assert api.get("documents").body["results"][0]["language"] == "de"
    assert found(api, "Haus") == ["kurz.md"]
    with pytest.raises(CommandError, match="two lowercase letters"):
        call_command("namespace", "create", "x", "--language", "German")


def test_stop_words_of_one_language_are_not_rare_words_of_another(
    api: Api, work: Callable[[], int]
):
    """One note in another language keeps "the" as a word: it must not win for having it."""
    things = ("boats", "lamps", "nets", "ropes", "crates", "bells", "masts", "oars", "sails")
    english = "The {} of the harbour are counted when the tide is in, and it is written down."
    latin = "Gallia est omnis divisa in partes tres, quarum unam incolunt Belgae, the of when."
    api.upload(*((f"{thing}.md", english.format(thing)) for thing in things), ("l.md", latin))
    work()
    stored = {d["source_uri"]: d["language"] for d in api.get("documents").body["results"]}
    assert stored["upload:l.md"] not in ("en", "")
    assert found(api, "when were the boats of the harbour counted?")[0] == "boats.md"
    assert found(api, "incolunt Belgae")[0] == "l.md"
