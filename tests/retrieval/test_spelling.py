"""Misspelt words are looked for as the known words closest to them; right ones never are."""

from collections.abc import Callable
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext

from documents.ingestion import terms
from documents.models import Namespace
from documents.text.lexemes import parse_query
from retrieval.candidates import legs, spelling

from ..client import Api

NOTES = {
    "warranty.md": "# Warranty\n\nThe warranty on a floodlight is five years from delivery.",
    "returns.md": "# Returns\n\nUnused goods are received back within thirty days.",
    "shipping.md": "# Shipping\n\nShipping takes two days. Accommodation is not included.",
    "perks.md": "# Perks\n\nLunch is free on Fridays. The canteen has a terrace. We stepped in.",
    "errors.md": "# Errors\n\nERR_CONN_42 comes from getUserById over the database.",
    "kontakt.md": "# Контакт\n\nГарантия действует пять лет после доставки товара.",
}


@pytest.fixture
def notes(api: Api, work: Callable[[], int]) -> Api:
    api.upload(*NOTES.items())
    assert work() == len(NOTES)
    return api


def asked(api: Api, question: str, **options: Any) -> tuple[list[str], list[str]]:
    """(sources of the results, notes about spelling)"""
    body = api.query(question, **{"mode": "lexical", **options}).body
    sources = [hit["source_uri"].removeprefix("upload:") for hit in body["results"]]
    told = [note for note in body["diagnostics"]["notes"] if note.startswith("spelling")]
    return sources, told


@pytest.mark.parametrize(
    ("typo", "right"),
    [
        ("warrenty", "warranty"),
        ("waranty", "warranty"),
        ("Warrantty", "warranty"),
        ("awrranty", "warranty"),
        ("recieved", "received"),
        ("shiping", "shipping"),
        ("acommodation", "accommodation"),
        ("acomodation", "accommodation"),
        ("floodliht's", "floodlight"),
        ("lucnh", "lunch"),
        ("гаратния", "гарантия"),
    ],
)
def test_a_typo_finds_what_the_right_spelling_finds(notes: Api, typo: str, right: str):
    found, about = asked(notes, typo)
    expected, nothing = asked(notes, right)
    assert found[:1] == expected[:1] != []
    assert nothing == []
    assert len(about) == 1
    assert f"'{typo.removesuffix(chr(39) + 's')}' is not in any document" in about[0]
    assert right[:6].casefold() in about[0]


def test_other_words_of_the_question_weigh_more(notes: Api):
    sources, about = asked(notes, "shipping warrenty")
    assert sources == ["shipping.md", "warranty.md"]
    assert about == ["spelling: 'warrenty' is not in any document; looked for 'warranty' instead"]


@pytest.mark.parametrize(
    "question",
    [
        '"warrenty"',  # quoted
        "warrent*",  # the beginning of a word, which some have
        "ERR_COMN_42",  # an identifier
        "getUserByIt",
        "ERRR",  # an acronym
        "perl",  # another word of four letters
        "12345",
        "--shiping",
        "data base",  # half of a word that is there
        "stopped",  # another word, spelt right, although "stepped" and "shopped" are not far
        "quandle zoot flurb",
    ],
)
def test_what_is_meant_as_it_stands_stays(notes: Api, question: str):
    assert asked(notes, question)[1] == []


def test_an_exact_match_wins_and_nothing_else_is_looked_for(notes: Api, work: Callable[[], int]):
    assert asked(notes, "warrenty")[0] == ["warranty.md"]
    notes.upload(("typo.md", "# Misspelt\n\nSome write warrenty."))
    work()
    assert asked(notes, "warrenty") == (["typo.md"], [])


def test_a_word_that_came_after_the_last_count_is_not_corrected(
    api: Api, tenant: Namespace, work: Callable[[], int], monkeypatch: pytest.MonkeyPatch
):
    api.upload(*NOTES.items())
    work()
    monkeypatch.setattr(terms, "STALE_SHARE", 10.0)
    api.upload(("typo.md", "# Misspelt\n\nSome write warrenty."))
    work()
    assert asked(api, "warrenty") == (["typo.md"], [])


def test_the_words_of_another_namespace_are_not_guessed(
    notes: Api, api_of: Callable[..., Api], other_tenant: Namespace, work: Callable[[], int]
):
    other = api_of(other_tenant)
    other.upload(("secret.md", "# Plans\n\nProject Nightingale begins in spring."))
    work()
    assert asked(other, "nightingail")[0] == ["secret.md"]
    assert asked(notes, "nightingail") == ([], [])


def test_known_words_cost_no_statement(notes: Api, tenant: Namespace):
    def statements(question: str) -> int:
        with CaptureQueriesContext(connection) as queries:
            notes.query(question, mode="lexical")
        return sum("documents_termfrequency" in query["sql"] for query in queries)

    assert statements("warranty") == 1
    assert statements("warrenty") == 2


def test_a_correction_never_counts_in_full(notes: Api):
    right = notes.query("floodlight", mode="lexical").body["relevance"]
    typo = notes.query("floodliht", mode="lexical").body["relevance"]
    assert 0.2 < typo < right


def test_the_terms_that_are_explained_are_those_looked_for(notes: Api, tenant: Namespace):
    body = notes.query("warrenty", mode="lexical", explain=True, highlight=True).body
    assert [term["term"] for term in body["diagnostics"]["terms"]] == ["warranti"]
    assert body["results"][0]["highlights"]
    out = StringIO()
    call_command("explain_query", "warrenty", namespace=tenant.slug, stdout=out)
    assert "'warrenty' is not in any document" in out.getvalue()


def test_a_question_of_many_unknown_words_is_bounded(notes: Api):
    question = " ".join(f"warrent{letter}" for letter in "abcdefghijklmnop")
    assert len(asked(notes, question)[1]) <= spelling.MAX_WORDS


def test_only_plain_words_may_be_misspelt():
    query = parse_query('Is the "exact phrase" (Waranty) of user@host, v2 or my-thing auto* SQLi?')
    assert spelling._correctable(query) == {"waranty": "Waranty"}


@pytest.mark.parametrize(
    ("one", "two", "expected"),
    [("ca", "ac", 1), ("lamp", "lamp", 0), ("abc", "", 3), ("kitten", "sitting", 3)],
)
def test_distance(one: str, two: str, expected: int):
    assert spelling.distance(one, two) == spelling.distance(two, one) == expected


def test_the_question_is_embedded_without_its_mistakes(notes: Api, monkeypatch: pytest.MonkeyPatch):
    embedded = []
    monkeypatch.setattr(
        legs, "embed_question", lambda tenant, text: embedded.append(text) or [1.0] * 256
    )
    notes.query("the Warrenty, please")
    notes.query("the warranty, please")
    notes.query("the warrenty, please", mode="semantic")
    assert embedded == [
        "the Warrenty, please",
        "the warranty, please",
        "the warranty, please",
        "the warrenty, please",
    ]
