"""What a unit of an extractive answer brings along: the sentence before a pronoun, the header of a
row, the line before a list."""

from collections.abc import Sequence

import pytest

from ragsite.platform.backends import load_backend
from retrieval.answering.checks.claims import uncited_sentences
from retrieval.answering.requests import Evidence
from retrieval.answering.writers.extractive.answer_types import answer_types

from .evidence import checked
from .extractive_tasks import MARKER, source, task, write

BORN_IN_OSLO = {
    "en": ("Ada Holm founded the museum.", "She was born in Oslo.", "Where was the founder born?"),
    "de": ("Ada Holm gründete es.", "Sie wurde in Oslo geboren.", "Wo wurde sie geboren?"),
    "es": ("Ada Holm fundó el museo.", "Ella nació en Oslo.", "¿Dónde nació la fundadora?"),
    "fr": ("Ada Holm a fondé le musée.", "Elle est née à Oslo.", "Où est née la fondatrice ?"),
    "ru": ("Ада Хольм основала музей.", "Она родилась в Осло.", "Где родилась она?"),
    "zh": ("阿达·霍尔姆创办了博物馆。", "她出生在奥斯陆。", "她在哪里出生？"),
    "ar": ("أسست آدا هولم المتحف.", "هي ولدت في أوسلو.", "أين ولدت؟"),
}


@pytest.mark.parametrize("language", BORN_IN_OSLO)
def test_a_sentence_that_opens_with_a_pronoun_brings_the_one_before(language: str):
    first, second, question = BORN_IN_OSLO[language]
    gap = "" if language == "zh" else " "
    found = source("p1", f"{first}{gap}{second}", language=language)
    text = write(task(question, found, language=language))
    assert text == f"{first} [cite:p1]{gap}{second} [cite:p1]"
    assert MARKER.sub("", text) == found.text


TABLE = """Fees are set by the board.

| Route | Price | Duration |
| --- | --- | --- |
| Bergen | 40 EUR | 3 hours |
| Tromsø | 95 EUR | 9 hours |
"""


def test_a_table_row_comes_with_its_header():
    text = write(task("What is the price of the route to Tromsø?", source("t1", TABLE)))
    assert text == (
        "| Route | Price | Duration |\n| --- | --- | --- |\n| Tromsø | 95 EUR | 9 hours | [cite:t1]"
    )


def test_a_row_whose_header_stands_in_another_passage_gets_it_too():
    header = "| Route | Price |\n| --- | --- |"
    rows = source("t2", "| Bergen | 40 EUR |\n| Tromsø | 95 EUR |", table_header=header)
    text = write(task("What is the price of the route to Tromsø?", rows))
    assert text == f"{header}\n| Tromsø | 95 EUR | [cite:t2]"


def test_rows_between_tabs_have_a_header_too():
    rows = source("t3", "Route\tPrice\nBergen\t40 EUR\nTromsø\t95 EUR")
    text = write(task("What is the price of the route to Tromsø?", rows))
    assert text == "Route\tPrice\nTromsø\t95 EUR [cite:t3]"


def test_a_number_in_words_finds_its_figure_in_a_table():
    rows = "| Managers | Split |\n| --- | --- |\n| 5 | 2-2-1 |\n| 7 | 3-2-2 |\n| 9 | 3-3-3 |"
    text = write(task("What is the split for seven managers?", source("t4", rows)))
    assert "| 7 | 3-2-2 | [cite:t4]" in text


LIST = """Deliveries are free from 50 euros.

You can return a parcel at these places:

- any post office, until noon
- the kiosk in Storgata, around the clock
"""


def test_a_list_item_comes_with_the_line_that_introduces_it():
    text = write(task("What about the kiosk in Storgata?", source("l1", LIST)))
    assert text == (
        "You can return a parcel at these places:\n"
        "- the kiosk in Storgata, around the clock [cite:l1]"
    )


def test_a_line_that_introduces_a_list_is_never_alone():
    text = write(task("At which places can I return a parcel?", source("l2", LIST)))
    assert text == (
        "You can return a parcel at these places:\n\n"
        "- any post office, until noon [cite:l2]\n"
        "- the kiosk in Storgata, around the clock [cite:l2]"
    )


@pytest.mark.parametrize(
    ("text", "question"),
    [
        (LIST, "At which places can I return a parcel?"),
        (
            "- **Keys.** Change them each May. Tell nobody.\n- **Logs.** Kept.",
            "When do keys change?",
        ),
        ("Ada Holm founded the museum. She was born in Oslo.", "Where was the founder born?"),
    ],
)
def test_every_sentence_that_is_shown_is_cited(text: str, question: str):
    found = source("u1", text)
    checker = checked(write(task(question, found)), found)
    assert len(checker.citations) > 1
    assert uncited_sentences(checker.text, checker.citations) == ()


def test_small_code_stays_whole_and_its_marker_stands_outside():
    code = "```bash\nbeacon rollback --to v2\n```"
    found = source("c1", f"Old text.\n\nTo undo a release, run this rollback:\n\n{code}")
    text = write(task("Which command does a rollback of a release?", found))
    assert f"{code}\n[cite:c1]" in text


@pytest.mark.parametrize("heading", ["## Warranty of lamps", "Warranty of lamps\n---", "Lamps"])
def test_a_heading_is_no_answer(heading: str):
    found = source("s1", f"{heading}\n\nIt covers faults for two years.", section="Lamps")
    text = write(task("Warranty of lamps", found))
    assert text == "It covers faults for two years. [cite:s1]"


def test_the_words_of_a_question_may_stand_in_the_heading_alone():
    found = source(
        "f1",
        "## How do I reset a lamp?\n\nHold the button for twelve seconds.\n\n"
        "## How do I pair a phone?\n\nOpen the app and choose Add.",
    )
    text = write(task("How do I pair a phone?", found))
    assert text == "Open the app and choose Add. [cite:f1]"


WARRANTY_TABLE = (
    "## Warranty\n\n### How long it lasts\n\n| Product | Warranty period |\n| --- | --- |\n"
    "| Skerry, Jetty | 3 years |\n| Breakwater | 5 years |\n| Refurbished lamps | 12 months |\n\n"
    "The period begins on the day of delivery. The warranty belongs to the lamp, so it passes to "
    "the new owner if you sell the lamp together with the receipt."
)


def warranty(name: str = "w1") -> Evidence:
    return source(name, WARRANTY_TABLE, title="Returns", section="Warranty > How long it lasts")


def test_a_question_about_all_rows_is_answered_by_the_whole_small_table():
    text = write(task("How long is the warranty on a lamp?", warranty()))
    assert text == (
        "| Product | Warranty period |\n| --- | --- |\n| Skerry, Jetty | 3 years | [cite:w1]\n"
        "| Breakwater | 5 years | [cite:w1]\n| Refurbished lamps | 12 months | [cite:w1]"
    )


def test_a_question_about_one_row_is_answered_by_that_row():
    text = write(task("How long is the warranty on the Breakwater lamp?", warranty()))
    assert text.endswith("| Breakwater | 5 years | [cite:w1]")
    assert "Skerry" not in text


def test_a_long_table_is_read_row_by_row():
    rows = "".join(f"| Lamp {n} | {n} years |\n" for n in range(1, 30))
    found = source("w2", f"| Product | Warranty period |\n| --- | --- |\n{rows}")
    assert write(task("How long is the warranty period?", found)).count("[cite:w2]") < 4


def test_a_list_below_a_heading_is_answered_whole():
    found = source(
        "l1", "### What is not covered\n\n- Water damage\n- Lightning, fire and falls\n",
        section="What is not covered",
    )  # fmt: skip
    text = write(task("What is not covered by the warranty?", found))
    assert text == "- Water damage [cite:l1]\n- Lightning, fire and falls [cite:l1]"


def test_a_sentence_about_the_page_is_no_answer():
    page = source("p1", "This page explains how to send a lamp back and how long you have for it.")
    rule = source("p2", "You may send back any lamp within 30 days of delivery.")
    text = write(task("How long do I have to send a lamp back?", page, rule))
    assert MARKER.findall(text) == ["p2"]


def test_the_first_step_is_the_first_item():
    steps = (
        "### First fifteen minutes\n\n1. Acknowledge the page and open an entry in Watch Log.\n"
        "2. Set the severity.\n3. Publish a first message, even if the cause is unknown.\n"
    )
    found = source("r1", steps, title="Runbook", section="Running an incident")
    text = write(task("What should I do first in an incident?", found))
    assert text == "1. Acknowledge the page and open an entry in Watch Log. [cite:r1]"


def test_how_often_is_answered_by_the_sentence_that_says_how_often():
    found = source(
        "s1",
        "## Passphrases\n\nUse a passphrase of at least 14 characters. Keep them in the company "
        "password manager. We do not ask you to change a passphrase at regular intervals.",
    )
    text = write(task("How often must passwords be changed?", found))
    assert text == "We do not ask you to change a passphrase at regular intervals. [cite:s1]"


def test_how_do_i_is_answered_by_an_instruction():
    model = load_backend("EMBEDDERS", "default")
    app = source("a1", "An authenticator app is sufficient for most systems.", relevance=0.46)
    token = source(
        "a2",
        "### Obtaining an access token\n\n"
        "Exchange your client ID and secret for an access token:\n\n"
        "```bash\ncurl -X POST https://api.beacon.example.com/v2/token\n```\n\n"
        "A token is valid for 60 minutes.",
        title="Beacon API Guide",
        relevance=0.36,
    )

    def embed(texts: Sequence[str]) -> list[list[float]]:
        return [vector for batch in model.embed_documents(texts) for vector in batch]

    text = write(task("How do I authenticate to the API?", app, token, embed=embed))
    assert text.startswith("Exchange your client ID and secret for an access token:")


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("How long is it kept?", {"duration"}),
        ("How often is it changed?", {"rhythm"}),
        ("How much notice do I need when I leave?", {"number"}),
        ("What should I do when it fails?", {"steps"}),
        ("When is it switched off and who tells me?", {"time", "name"}),
        ("Wie oft wird gesichert?", {"rhythm"}),
        ("Is it safe?", set()),
    ],
)
def test_kinds_of_answer_that_are_asked_for(question: str, expected: set[str]):
    assert answer_types(question) == expected
