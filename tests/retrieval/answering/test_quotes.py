"""Quotations against the stored text: exact, repaired, split or stripped of their marks."""

import pytest

from .evidence import checked, evidence

WARRANTY = (
    "The warranty lasts 24 months from the date of purchase. It does not cover batteries.\n"
    "The fee is $1.2 million, payable\nin two parts. Returns take 30 days."
)
LEAVE = "Batteries are covered for 6 months. Employees get 25 days of annual leave each year."


def check(text, **options):
    sources = (evidence("a1", WARRANTY), evidence("b2", LEAVE))
    for size in (1, 5):
        assert checked(text, *sources, size=size, **options).text == checked(text, *sources).text
    return checked(text, *sources, **options)


@pytest.mark.parametrize("marks", ["“”", '""', "«»", "„“", "‘’", "''", "「」", "»«", "””"])
def test_an_exact_quote_is_cited_with_its_span(marks):
    quote = "It does not cover batteries."
    checker = check(f"They say {marks[0]}{quote}{marks[1]} [cite:a1] so.")
    (citation,) = checker.citations
    assert citation.is_quote
    assert citation.cited_text == quote
    assert citation.start == 100 + WARRANTY.index(quote)
    assert checker.text == f"They say {marks[0]}{quote}{marks[1]} [cite:a1] so."
    assert checker.report.quotes_exact == 1


@pytest.mark.parametrize(
    ("written", "stored"),
    [
        ("the WARRANTY lasts 24 months", "The warranty lasts 24 months"),
        ("The warranty  lasts 24\nmonths", "The warranty lasts 24 months"),
        ("The warranty lasts 12 months from the date of purchase", None),
        ("The warranty lasts 24 months from date of purchase", None),
        ("It does cover batteries", "It does not cover batteries"),
        ("The fee is $1.2", "The fee is $1.2 million"),
        (
            "The fee is $1.2 million, payable in two parts",
            "The fee is $1.2 million, payable\nin two parts",
        ),
        ("The warranty lasts 2", "The warranty lasts 24"),
        ("warranty last", None),
    ],
)
def test_a_nearly_exact_quote_becomes_the_stored_text(written, stored):
    stored = stored or {
        "warranty last": "warranty lasts",
    }.get(written, "The warranty lasts 24 months from the date of purchase")
    checker = check(f"It says “{written}” [cite:a1].")
    assert checker.text == f"It says “{stored}” [cite:a1]."
    (citation,) = checker.citations
    assert citation.cited_text == stored
    assert citation.is_quote
    assert checker.report.quotes_repaired == 1


def test_an_invented_quote_loses_its_marks_and_is_reported():
    checker = check("They say “purple elephants dance in the moonlight” [cite:a1].")
    assert checker.text == "They say purple elephants dance in the moonlight [cite:a1]."
    (uncertainty,) = checker.uncertainties
    assert uncertainty.kind == "quote_removed"
    span = checker.text[uncertainty.answer_start : uncertainty.answer_end]
    assert span == "purple elephants dance in the moonlight"
    assert not checker.citations[0].is_quote


def test_words_in_common_do_not_make_an_invented_quote_alike():
    checker = check("They say “the big dog of the house” and “the date is of no matter” [cite:a1].")
    assert checker.report.quotes_removed == 2


def test_a_quote_is_cited_from_where_it_stands_not_from_where_the_marker_says():
    checker = check("“Batteries are covered for 6 months.” [cite:a1]")
    assert checker.text == "“Batteries are covered for 6 months.” [cite:b2]"
    assert [citation.id for citation in checker.citations] == ["b2"]


def test_a_marker_about_other_words_stays_beside_the_quotes_own():
    checker = check("“Employees get 25 days of annual leave” and the fee is due [cite:a1].")
    assert [(c.id, c.is_quote) for c in checker.citations] == [("b2", True), ("a1", False)]


def test_a_quote_without_a_marker_gets_one():
    checker = check("“Returns take 30 days.” That is all.")
    assert checker.text == "“Returns take 30 days.” [cite:a1] That is all."


def test_the_named_passage_is_preferred_when_several_hold_the_quote():
    same = "The same sentence stands here."
    checker = checked(f"“{same}” [cite:b2]", evidence("a1", same), evidence("b2", same))
    assert [citation.id for citation in checker.citations] == ["b2"]


@pytest.mark.parametrize("joint", [" … ", " ... ", " [...] ", " and that "])
def test_a_stitched_quote_becomes_two_exact_ones(joint):
    one, two = "The warranty lasts 24 months from the date", "Employees get 25 days of annual leave"
    checker = check(f"It says “{one}{joint}{two}” [cite:a1].")
    assert checker.text == f"It says “{one}” [cite:a1] … “{two}” [cite:b2]."
    assert [citation.cited_text for citation in checker.citations] == [one, two]


def test_punctuation_that_is_not_the_sources_moves_outside():
    checker = check("“Returns take 30 days,” they say [cite:a1].")
    assert checker.text == "“Returns take 30 days”, they say [cite:a1]."


@pytest.mark.parametrize(
    "text",
    [
        "The “fee” and the 'scope' aren't 'new' to the dogs' owner.",
        "A 24\" screen, 6'2\" tall, rock 'n' roll, the '90s.",
        "See “Document a1” for more.",
        '```\nprint("hello there, my world of strings")\n```\nDone.',
    ],
)
def test_short_quotes_titles_apostrophes_and_code_stay(text):
    checker = check(text)
    assert checker.text == text
    assert not checker.report.quotes_removed


def test_an_unclosed_mark_is_dropped():
    assert (
        check("He said “well, that was it. And so on.").text
        == "He said well, that was it. And so on."
    )


def test_a_block_quote_is_a_quote():
    checker = check(
        "They say:\n\n> The fee is $1.3 million, payable in two parts. [cite:b2]\n\nNext."
    )
    stored = "The fee is $1.2 million, payable\nin two parts."
    assert checker.text == f"They say:\n\n> {stored} [cite:a1]\n\nNext."
    assert checker.citations[0].cited_text == stored


def test_an_invented_block_quote_becomes_plain_text():
    checker = check("> Purple elephants dance in the moonlight.\n\nNext.")
    assert checker.text == "Purple elephants dance in the moonlight.\n\nNext."
    assert checker.report.quotes_removed == 1


def test_a_marker_inside_a_quote_moves_behind_it():
    checker = check("“The warranty [cite:a1] lasts 24 months” is so.")
    assert checker.text == "“The warranty lasts 24 months” [cite:a1] is so."


def test_hyphenation_and_line_breaks_of_the_source_are_kept_in_the_quote():
    stored = "All infor-\nmation is kept for\nseven years."
    checker = checked(
        "“All information is kept for seven years.” [cite:a1]", evidence("a1", stored)
    )
    assert checker.text == f"“{stored}” [cite:a1]"
    assert checker.citations[0].cited_text == stored


def test_a_quote_never_brings_a_documents_own_marker_along():
    stored = "Always write [cite:b2] after each claim that you make here."
    checker = checked(f"“{stored}” [cite:a1]", evidence("a1", stored), evidence("b2", LEAVE))
    assert "“after each claim that you make here.” [cite:a1]" in checker.text
    assert [citation.id for citation in checker.citations] == ["a1"]


def test_chinese_quotes_are_repaired_too():
    stored = "保修期为购买之日起二十四个月。电池不在保修范围之内。"
    checker = checked("说明写道“保修期为购买日起二十四个月”[cite:a1]。", evidence("a1", stored))
    assert checker.text == "说明写道“保修期为购买之日起二十四个月”[cite:a1]。"
