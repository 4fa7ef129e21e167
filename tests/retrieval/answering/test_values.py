"""Numbers and dates of an answer against what its sources state."""

import pytest

from retrieval.answering.checks.claims import answer_sentences, uncited_sentences
from retrieval.answering.values.values import find_values, unsupported_values

from ...linear_time import assert_grows_linearly
from .evidence import checked, evidence


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("1,000", "1000"),
        ("1.000", "1000"),
        ("1 000", "1,000"),
        ("1,000.50", "1.000,50"),
        ("5 %", "5 percent"),
        ("5%", "5 Prozent"),
        ("$1.2 million", "1,200,000"),
        ("€3bn", "3 Milliarden"),
        ("12 March 2024", "2024-03-12"),
        ("March 12, 2024", "12.3.2024"),
        ("12. März 2024", "12 de marzo de 2024"),
        ("03/12/2024", "12 March 2024"),
        ("03/12/2024", "3 December 2024"),
        ("5 pm", "17:00"),
        ("two", "2"),
        ("twenty-five", "fünfundzwanzig 25"),
        ("zwei", "deux"),
        ("v2.1", "version v2.1"),
    ],
)
def test_the_same_value_has_a_key_in_common(one, two):
    assert find_values(one)[0].keys & frozenset().union(*(v.keys for v in find_values(two)))


@pytest.mark.parametrize(
    ("one", "two"), [("1.5", "15"), ("12 March 2024", "13 March 2024"), ("2.1.3", "21.3")]
)
def test_different_values_have_none(one, two):
    assert not find_values(one)[0].keys & find_values(two)[0].keys


def flagged(text, *texts, **options):
    sources = [evidence(f"e{n}", passage, title="Guide 7") for n, passage in enumerate(texts)]
    checker = checked(text, *sources)
    found = unsupported_values(checker.text, checker.citations, **options)
    return [checker.text[item.answer_start : item.answer_end] for item in found]


PASSAGE = (
    "Since 12 March 2024 the warranty lasts 24 months. It costs $1,200,000, or 5 percent. v2.1.3"
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It lasts 24 months [cite:e0].", []),
        ("It lasts 12 months [cite:e0].", ["12"]),
        ("It lasts three months [cite:e0].", ["three"]),
        ("One of them costs $1.2 million, or 5% [cite:e0].", []),
        ("It costs $1.3 million, or 6 % [cite:e0].", ["$1.3 million", "6 %"]),
        ("Since 2024-03-12, i.e. March 2024, in 2024 [cite:e0].", []),
        ("Since 2024-04-12 [cite:e0].", ["2024-04-12"]),
        ("See version 2.1 of guide 7 [cite:e0].", []),
        ("1. It lasts 24 months [cite:e0].\n2. It costs 5 % [cite:e0].", []),
        ("It lasts 99 months.", []),
    ],
)
def test_values_that_no_cited_passage_states_are_flagged(text, expected):
    assert flagged(text, PASSAGE) == expected


def test_only_the_passages_that_the_sentence_cites_count():
    texts = (PASSAGE, "There are 36 options.")
    assert flagged("It lasts 36 months [cite:e0]. There are 36 [cite:e1].", *texts) == ["36"]


def test_values_of_the_question_are_not_flagged():
    assert flagged("In 2019 it lasted 24 months [cite:e0].", PASSAGE) == ["2019"]
    assert flagged("In 2019 it lasted 24 months [cite:e0].", PASSAGE, question="And in 2019?") == []


def test_a_table_header_in_millions_is_understood():
    source = evidence("e0", "| Sales | 1.2 |", table_header="| | $ million |")
    checker = checked("Sales were $1.2 million [cite:e0].", source)
    assert not unsupported_values(checker.text, checker.citations)


def test_sentences_without_a_citation_are_found_and_phrases_are_not():
    text = (
        "## Warranty\n\nHere it is:\n\n- It lasts 24 months [cite:e0].\n"
        "- Batteries are excluded.\n\nThat is it. Prices rise. [cite:e0]"
    )
    checker = checked(text, evidence("e0", PASSAGE))
    found = uncited_sentences(checker.text, checker.citations)
    spans = [checker.text[item.answer_start : item.answer_end] for item in found]
    assert spans == ["Batteries are excluded."]


def test_a_marker_after_the_full_stop_belongs_to_the_sentence_before():
    checker = checked("It is so. [cite:e0] That is all.", evidence("e0", PASSAGE))
    sentences = answer_sentences(checker.text, checker.citations)
    assert [bool(sentence.citations) for sentence in sentences] == [True, False]


def test_many_numbers_take_little_time():
    assert_grows_linearly(find_values, "1,2.3 " * 2000, "1,2.3 " * 8000)
    assert_grows_linearly(find_values, "1,2.3" * 2000, "1,2.3" * 8000)
