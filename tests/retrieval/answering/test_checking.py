"""The checker as the pipeline uses it: what leaves when, what is cited, what is cleaned."""

import pytest

from retrieval.answering.checks.checking import AnswerChecker

from .evidence import checked, evidence

TEXT = (
    "Returns are free. The warranty lasts 24 months from the date of purchase. "
    "It does not cover batteries, which have 6 months of their own.\n\n"
    "| Plan | Price |\n|---|---|\n| Basic | $5 |\n| Pro | $12 |"
)
SOURCE = evidence("a1", TEXT, page=3, page_end=4)


def claims(checker):
    return [checker.text[c.answer_start : c.answer_end] for c in checker.citations]


def test_a_claim_cites_the_sentence_that_supports_it():
    checker = checked("The warranty runs for 24 months [cite:a1].", SOURCE)
    (citation,) = checker.citations
    assert citation.cited_text == "The warranty lasts 24 months from the date of purchase."
    assert TEXT[citation.start - 100 : citation.end - 100] == citation.cited_text
    assert (citation.page_start, citation.page_end) == (3, 4)
    assert claims(checker) == ["The warranty runs for 24 months"]
    assert not citation.is_quote


def test_a_claim_over_two_sentences_cites_both_and_a_row_cites_the_row():
    both, row = checked(
        "24 months of warranty from purchase but 6 months for batteries [cite:a1]. "
        "Pro costs $12 [cite:a1].",
        SOURCE,
    ).citations
    assert both.cited_text.startswith("The warranty lasts")
    assert both.cited_text.endswith("of their own.")
    assert row.cited_text == "| Pro | $12 |"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One. Two is so [cite:a1]. Three.", ["Two is so"]),
        ("One. Two is so. [cite:a1] Three.", ["Two is so."]),
        ("Two [cite:a1] and three [cite:a1].", ["Two", "and three"]),
        ("Two [cite:a1][cite:b2].", ["Two", "Two"]),
        ("[cite:a1] Two is so. Three.", ["Two is so."]),
        ("- One [cite:a1]\n- [cite:a1] Two is so\n- Three", ["One", "Two is so"]),
        ("Two is so.\n\n[cite:a1]", ["Two is so."]),
        ("**Two is so** [cite:a1].", ["Two is so**"]),
        ("1. Two is so [cite:a1]", ["Two is so"]),
    ],
)
def test_the_claim_is_the_sentence_or_its_part_before_the_marker(text, expected):
    checker = checked(text, SOURCE, evidence("b2", "Other text."))
    assert claims(checker) == expected
    assert checker.text == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A claim [cite:zz].", "A claim."),
        ("A claim [cite:zz] goes on.", "A claim goes on."),
        ("A claim [cite:zz] [cite:a1].", "A claim [cite:a1]."),
        ("A claim[cite:a1, zz].", "A claim[cite:a1]."),
        ("A claim [cite:a1][cite:a1].", "A claim [cite:a1]."),
        ("A [ci[cite:zz]te:a1] b.", "A (cite:a1] b."),
        ("[cite:a1]", ""),
    ],
)
def test_what_is_dropped_leaves_no_trace(text, expected):
    assert checked(text, SOURCE).text == expected


def test_plain_text_leaves_at_once_and_markers_and_quotes_when_they_are_whole():
    checker = AnswerChecker([SOURCE])

    def feed(text):
        return "".join(part.text for part in checker.feed(text))

    assert feed("The warranty lasts") == "The warranty lasts"
    assert feed(" 24 months [ci") == " 24 months"
    assert feed("te:a1]. It") == " [cite:a1]. It"
    assert feed(" says “Returns are") == " says"
    assert feed(" free” in all") == ""
    assert feed(" shops [cite:a1].") == " “Returns are free” in all shops [cite:a1]."


def test_citations_leave_with_their_markers():
    checker = AnswerChecker([SOURCE])
    parts = [*checker.feed("Returns are free [cite:a1]. The"), *checker.feed(" rest.")]
    assert [len(part.citations) for part in parts] == [1, 0]


def test_what_is_held_back_is_bounded():
    checker = AnswerChecker([SOURCE])
    left = sum(len(part.text) for part in checker.feed("“" + "word " * 2000))
    assert left > 10_000 - 3_000


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("\x1b[31mred\x1b[0m text\x07", "red text"),
        ("\x1b]0;title\x07x", "x"),
        ("a\u200bb\u202ec\ufeffd\u2066e", "abcde"),
        ("[ci\u200bte:a1] x [cite\u200d:zz]", "(cite"),
        ("line\r\nnext\rlast", "line\nnext\nlast"),
        ("می\u200cخواهم 👩\u200d👩", "می\u200cخواهم 👩\u200d👩"),
        ("x\U000e0041\ue000\ud800y", "xy"),
    ],
)
def test_hidden_characters_are_taken_out(text, expected):
    found = checked(text, SOURCE)
    assert found.text == checked(text, SOURCE, size=1).text
    if expected == "(cite":
        assert "zz" not in found.text
        assert found.text.startswith("[cite:a1] x")
    else:
        assert found.text == expected


def test_a_flood_ends():
    checker = AnswerChecker([SOURCE], max_characters=1000)
    left = [part for _ in range(50) for part in checker.feed("flood " * 50)]
    left += checker.finish()
    assert len(checker.text) <= 1000
    assert checker.is_full
    assert checker.report.is_cut_off


def test_an_answer_of_the_longest_allowed_length_is_not_cut_off():
    checker = checked("x" * 1000, SOURCE, max_characters=1000)
    assert checker.text == "x" * 1000
    assert not checker.report.is_cut_off


def test_a_blank_passage_supports_nothing():
    checker = checked("A claim [cite:a1].", evidence("a1", " \n "))
    assert checker.text == "A claim."
    assert checker.report.unknown_ids == 1


def test_no_evidence_means_no_markers_and_no_quotes():
    checker = checked("He said “it is all here and fine” [cite:a1].")
    assert checker.text == "He said it is all here and fine."
    assert not checker.citations
