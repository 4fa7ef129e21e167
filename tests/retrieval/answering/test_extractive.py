"""Answers without a language model: verbatim sentences, with what a reader needs around them."""

import re
import threading
import time
import uuid
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from documents.language_models.base import Cancelled, Usage
from ragsite.platform.backends import load_backend
from retrieval.answering.checks.claims import uncited_sentences
from retrieval.answering.requests import AnswerRequest, Evidence, Preferences
from retrieval.answering.writers.base import NotEnoughInformation, WritingTask
from retrieval.answering.writers.extractive import ExtractiveWriter
from retrieval.answering.writers.extractive.ranking import MAX_EMBEDDED, MAX_RERANKED
from retrieval.requests import SearchRequest
from tests.linear_time import assert_grows_linearly

from .evidence import checked, evidence

MARKER = re.compile(r"\s\[cite:(\w+)\]")


def source(name: str, text: str, *, relevance: float | None = 0.9, **fields: Any) -> Evidence:
    made = evidence(name, text, **fields)
    candidate = replace(made.hit.candidate, relevance=relevance)
    return replace(made, hit=replace(made.hit, candidate=candidate))


def task(question: str, *sources: Evidence, **fields: Any) -> WritingTask:
    return WritingTask(
        question=question,
        evidence=sources,
        request=AnswerRequest(SearchRequest(question)),
        preferences=Preferences(),
        min_relevance=fields.pop("min_relevance", 0.0),
        **fields,
    )


def write(given: WritingTask, writer: ExtractiveWriter | None = None) -> str:
    chosen = writer or ExtractiveWriter()
    pieces = list(chosen.write(given, deadline=time.monotonic() + 30, cancelled=threading.Event()))
    assert pieces[-1].finish == "stop"
    assert pieces[-1].usage == Usage(0, 0)
    assert all(piece.finish is None for piece in pieces[:-1])
    return "".join(piece.text for piece in pieces)


def refusal(given: WritingTask) -> str:
    with pytest.raises(NotEnoughInformation) as refused:
        write(given)
    return refused.value.missing


WARRANTY = source(
    "w1",
    "Every lamp is tested before it leaves the factory. The warranty on the Breakwater lamp "
    "lasts five years. Repairs are free during that time.",
)
OPENING = source(
    "h2", "The shop in Bergen opens at nine in the morning. It is closed on public holidays."
)


def test_the_answer_is_an_exact_slice_of_its_passage_with_its_marker():
    text = write(task("How long is the warranty on the Breakwater lamp?", OPENING, WARRANTY))
    assert text == "The warranty on the Breakwater lamp lasts five years. [cite:w1]"


def test_the_settings_name_the_writer():
    assert isinstance(load_backend("LANGUAGE_MODELS", "extractive"), ExtractiveWriter)


def test_several_sentences_stand_in_the_order_of_the_document():
    document = uuid.uuid4()
    late = source(
        "b2", "Claims are paid with the salary in March.", document_id=document, start=900
    )
    early = source("a1", "Expense forms go to the finance desk.", document_id=document, start=100)
    text = write(task("Where do expense forms go, and when are claims paid?", late, early))
    assert MARKER.findall(text) == ["a1", "b2"]
    assert text == (
        "Expense forms go to the finance desk. [cite:a1] "
        "Claims are paid with the salary in March. [cite:b2]"
    )


def test_one_sentence_is_enough_where_it_has_all_the_words():
    other = source("o1", "The warranty on lamps of other makes lasts two years.")
    text = write(task("How long is the warranty on the Breakwater lamp?", WARRANTY, other))
    assert MARKER.findall(text) == ["w1"]


def test_the_same_sentence_from_overlapping_passages_is_given_once():
    document = uuid.uuid4()
    sentence = "Tokens expire after sixty minutes and can be renewed once."
    one = source("a1", f"Keys never expire. {sentence}", document_id=document, start=0)
    two = source("b2", f"{sentence} Sessions end at midnight.", document_id=document, start=19)
    copy = source("c3", sentence)
    text = write(task("When do tokens expire, and can they be renewed?", one, two, copy))
    assert text.count("sixty minutes") == 1


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


def test_it_refuses_what_the_evidence_does_not_answer_and_names_what_is_missing():
    weak = source("w2", WARRANTY.text, relevance=0.05)
    given = task("Which toaster has the loudest bell?", weak, min_relevance=0.2)
    assert "“toaster”" in refusal(given)


def test_no_evidence_is_not_enough():
    assert "“toaster”" in refusal(task("Which toaster?", min_relevance=0.2))


def test_it_answers_the_same_question_if_the_evidence_does():
    given = task("How long is the warranty on the Breakwater lamp?", WARRANTY, min_relevance=0.2)
    assert "five years" in write(given)


def test_a_higher_threshold_refuses_more():
    question = "How long do repairs of lamps stay free?"
    assert write(task(question, WARRANTY, min_relevance=0.0))
    refusal(task(question, WARRANTY, min_relevance=0.9999))


@pytest.mark.parametrize(
    ("language", "text", "question", "expected"),
    [
        ("de", "Die Bücherei öffnet um neun Uhr. Die Ausleihe kostet zwei Euro im Monat.",
         "Was kostet die Ausleihe?", "Die Ausleihe kostet zwei Euro im Monat."),
        ("es", "La biblioteca abre a las nueve. El préstamo cuesta dos euros al mes.",
         "¿Cuánto cuesta el préstamo?", "El préstamo cuesta dos euros al mes."),
        ("ru", "Библиотека открывается в девять. Абонемент стоит два евро в месяц.",
         "Сколько стоит абонемент?", "Абонемент стоит два евро в месяц."),
        ("zh", "图书馆九点开门。借书证每月收费两欧元。",
         "借书证收费多少？", "借书证每月收费两欧元。"),
        ("ar", "تفتح المكتبة في التاسعة. تكلفة الاشتراك يوروان في الشهر.",
         "كم تكلفة الاشتراك؟", "تكلفة الاشتراك يوروان في الشهر."),
    ],
)  # fmt: skip
def test_other_languages_rest_on_their_words(
    language: str, text: str, question: str, expected: str
):
    def embed(texts: Sequence[str]) -> list[list[float]]:
        raise AssertionError("the model does not read this language")

    given = task(question, source("x1", text, language=language), language=language, embed=embed)
    assert write(given) == f"{expected} [cite:x1]"


def test_a_model_that_reads_a_language_is_asked_for_it():
    calls: list[int] = []

    def embed(texts: Sequence[str]) -> list[list[float]]:
        calls.append(len(texts))
        return [[1.0, 0.0] for _ in texts]

    given = task("Was kostet es?", source("x1", "Es kostet zwei Euro."), language="de", embed=embed)
    write(given, ExtractiveWriter(embedding_languages=None))
    assert len(calls) == 1


MARKERS = (
    "[cite:zz9]",
    "[CITE: zz9]",
    "【cite:zz9】",
    "[ cite : zz9 ]",
    "[cite:zz9",
    "\\[cite:zz9]",
)


@pytest.mark.parametrize("marker", MARKERS)
def test_a_marker_in_a_document_is_never_repeated(marker: str):
    found = source("m1", f"The fee is forty euros {marker} for every permit. Bring a passport.")
    text = write(task("How much is the fee for a permit?", found))
    assert set(MARKER.findall(text)) == {"m1"}
    assert text.lower().count("cite") == len(MARKER.findall(text))
    assert checked(text, found).report.unknown_ids == 0


def test_quotation_marks_of_a_document_pass_the_checks_unchanged():
    found = source("q1", 'The rule says “no ladders on the stairs” since 1998. Nobody "objects".')
    text = write(task("What does the rule say about ladders?", found))
    checker = checked(text, found)
    assert "“no ladders on the stairs”" in checker.text
    assert checker.report.quotes_removed == checker.report.quotes_repaired == 0


HOSTILE = [
    "[" * 20_000,
    "|" * 20_000,
    "- " * 10_000,
    "-" * 20_000 + "x",
    "```\n" * 5_000,
    "# \n" * 6_000,
    "\x00\x01 \u202e reversed",
    "lamp " * 4_000,
    "\n" * 20_000,
    "1.) a) (b) \t\t\n" * 1_000,
]


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_text_breaks_nothing(text: str):
    sources = (source("h1", text), WARRANTY)
    answer = write(task("How long is the warranty on the Breakwater lamp?", *sources))
    assert "lasts five years. [cite:w1]" in answer


def test_work_grows_with_the_evidence_and_not_with_its_square():
    sentence = "The warranty on lamp {} lasts five years, and it covers the bulb.\n"

    def rank(count: int) -> None:
        text = "".join(sentence.format(n) for n in range(count))
        ExtractiveWriter().rank(task("How long is the warranty on lamp 7?", source("a1", text)))

    assert_grows_linearly(rank, 60, 240)


def test_one_call_embeds_a_limited_number_of_units():
    calls: list[int] = []

    def embed(texts: Sequence[str]) -> list[list[float]]:
        calls.append(len(texts))
        return [[1.0, 0.0] for _ in texts]

    sources = [
        source(f"e{n}", " ".join(f"Lamp {n}-{m} has a warranty of {m} years." for m in range(40)))
        for n in range(10)
    ]
    write(task("Which lamp has a warranty of seven years?", *sources, embed=embed))
    assert calls == [1 + MAX_EMBEDDED]


def test_a_cross_encoder_orders_the_best_units():
    seen: list[int] = []

    def score_pairs(question: str, texts: Sequence[str]) -> list[float]:
        seen.append(len(texts))
        return [float("lamp 3 " in text) for text in texts]

    many = [source(f"e{n}", f"The warranty on lamp {n} lasts {n} years.") for n in range(12)]
    given = task("How long is the warranty on the Breakwater lamp?", WARRANTY, *many)
    answer = write(given, ExtractiveWriter(score_pairs=score_pairs))
    assert seen == [MAX_RERANKED]
    assert "lamp 3 " not in write(given)
    assert "The warranty on lamp 3 lasts 3 years. [cite:e3]" in answer


def test_nothing_is_written_for_a_caller_who_left():
    cancelled = threading.Event()
    cancelled.set()
    pieces = ExtractiveWriter().write(
        task("How long is the warranty?", WARRANTY),
        deadline=time.monotonic() + 30,
        cancelled=cancelled,
    )
    with pytest.raises(Cancelled):
        next(iter(pieces))


HANDBOOK = [
    source(
        "v1",
        "Full-time staff have 27 days of paid holiday a year. Unused days lapse at the end of "
        "March. Holiday is booked in Staff Desk.",
        title="Handbook",
        section="Holiday",
        relevance=0.5,
    ),
    source(
        "v2",
        "Salaries are paid on the 25th of each month. They are transferred to one account only. "
        "Bonuses follow in April.",
        title="Handbook",
        section="Pay",
        relevance=0.5,
    ),
    source(
        "v3",
        "Tell your manager before 09:30 on the first day you are unwell. A doctor's note is needed "
        "from the fourth day on.",
        title="Handbook",
        section="Illness",
        relevance=0.5,
    ),
]


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("How many vacation days do employees get?", "27 days of paid holiday a year. [cite:v1]"),
        ("On which date is my salary paid?", "on the 25th of each month. [cite:v2]"),
        ("When do I have to call in sick?", "on the first day you are unwell. [cite:v3]"),
    ],
)
def test_the_real_model_finds_what_is_said_in_other_words(question: str, expected: str):
    model = load_backend("EMBEDDERS", "default")

    def embed(texts: Sequence[str]) -> list[list[float]]:
        return [vector for batch in model.embed_documents(texts) for vector in batch]

    assert expected in write(task(question, *HANDBOOK, embed=embed))
