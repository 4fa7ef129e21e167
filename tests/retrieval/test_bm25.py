"""The question for PostgreSQL: which chunks are looked at, and what each word is worth."""

import itertools
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrieval.candidates import bm25
from retrieval.candidates.bm25 import Term

TOTAL = 1000


def terms_of(counts: list[int]) -> list[Term]:
    return [
        Term((f"w{n}",), (n + 1,), count, bm25.weight(count, total=TOTAL))
        for n, count in enumerate(counts)
    ]


def matches(query: str, words: set[str]) -> bool:
    """A tsquery of words, brackets, & and |, read as Python."""
    expression = re.sub(r"'(w\d+)'", lambda word: str(word[1] in words), query)
    return bool(eval(expression.replace("&", " and ").replace("|", " or ")))


counts = st.lists(st.integers(1, TOTAL), min_size=1, max_size=bm25.MAX_PRUNING_TERMS)
shares = st.sampled_from(bm25.SHARES[1:])


@given(counts, shares, st.data())
def test_exactly_the_chunks_that_hold_the_share_are_looked_at(
    counts: list[int], share: float, data: st.DataObject
):
    terms = terms_of(counts)
    words = data.draw(st.sets(st.sampled_from([term.lexemes[0] for term in terms])))
    held = sum(term.weight for term in terms if term.lexemes[0] in words)
    need = share * sum(term.weight for term in terms)
    is_close = held == pytest.approx(need, rel=1e-9)
    if not is_close:
        assert matches(bm25.candidates_query(terms, share=share), words) == (held > need)


@given(st.lists(st.integers(1, TOTAL), min_size=1, max_size=6), st.sampled_from(bm25.SHARES))
def test_the_expected_number_is_that_of_independent_words(counts: list[int], share: float):
    terms = terms_of(counts)
    need = share * sum(term.weight for term in terms)
    expected = 0.0
    for held in itertools.product([False, True], repeat=len(terms)):
        chance = 1.0
        for term, has in zip(terms, held, strict=True):
            chance *= term.chunks / TOTAL if has else 1 - term.chunks / TOTAL
        mass = sum(term.weight for term, has in zip(terms, held, strict=True) if has)
        if any(held) and mass >= need - 1e-9:
            expected += chance
    rare = bm25._for_pruning(terms)
    assert bm25._chance(rare, terms, need, TOTAL) == pytest.approx(expected, abs=0.02)


def test_common_words_alone_bring_nothing_in_when_a_rare_one_is_asked_for():
    terms = terms_of([900, 800, 3])
    step = bm25.choose_share(terms, total=TOTAL, budget=50)
    query = bm25.candidates_query(terms, share=bm25.SHARES[step])
    assert matches(query, {"w2"})
    assert not matches(query, {"w0", "w1"})


def test_a_small_namespace_is_looked_at_whole():
    terms = terms_of([900, 800, 3])
    assert bm25.choose_share(terms, total=TOTAL, budget=3000) == 0
    assert bm25.candidates_query(terms, share=0) == "'w0' | 'w1' | 'w2'"


@given(st.lists(st.integers(0, TOTAL), min_size=1, max_size=12), st.integers(1, 2000))
def test_words_nobody_has_counted_are_always_looked_for(counts: list[int], budget: int):
    terms = terms_of(counts)
    step = bm25.choose_share(terms, total=TOTAL, budget=budget)
    query = bm25.candidates_query(terms, share=bm25.SHARES[step])
    for term in terms:
        if not term.chunks:
            assert matches(query, {term.lexemes[0]})


@given(st.integers(0, 2000), st.integers(0, 2000))
def test_rarer_words_weigh_more_and_none_less_than_nothing(one: int, other: int):
    heavy, light = sorted((one, other))
    assert bm25.weight(heavy, total=TOTAL) >= bm25.weight(light, total=TOTAL) >= 0


def test_user_text_stays_a_literal():
    assert bm25.quoted("a'b\\c") == "'a''b\\\\c'"
    either = Term(("run", "running"), (1, 2), 5, 1.0)
    assert either.as_query() == "('run' | 'running')"
    assert Term(("auth",), (), 0, 1.0, is_prefix=True).as_query() == "'auth':*"
    assert bm25.sparse([either]) == "{1:1,2:1}/1000000000"
    assert bm25.sparse([]) == "{}/1000000000"
