"""What a unit of an extractive answer brings along: the sentence before a pronoun, the header of a
row, the line before a list."""

import pytest

from retrieval.answering.checks.claims import uncited_sentences

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
