"""Answers without a language model: verbatim sentences, with what a reader needs around them."""

import threading
import time
import uuid
from collections.abc import Sequence

import pytest

from documents.language_models.base import Cancelled
from ragsite.platform.backends import load_backend
from retrieval.answering.writers.base import NotEnoughInformation, WritingTask
from retrieval.answering.writers.extractive import ExtractiveWriter
from retrieval.answering.writers.extractive.ranking import MAX_EMBEDDED, MAX_RERANKED
from tests.linear_time import assert_grows_linearly

from .evidence import checked
from .extractive_tasks import MARKER, source, task, write


def refusal(given: WritingTask) -> tuple[str, ...]:
    with pytest.raises(NotEnoughInformation) as refused:
        write(given)
    return refused.value.words


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


def test_it_refuses_what_the_evidence_does_not_answer_and_names_what_is_missing():
    weak = source("w2", WARRANTY.text, relevance=0.05)
    given = task("Which toaster has the loudest bell?", weak, min_relevance=0.2)
    assert "toaster" in refusal(given)


def test_no_evidence_is_not_enough():
    assert "toaster" in refusal(task("Which toaster?", min_relevance=0.2))


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
