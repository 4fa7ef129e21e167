"""Sentences: found where people see them, exact, and in linear time."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from documents.text.sentences import sentence_spans

from ..linear_time import assert_grows_linearly


def sentences(text: str, *, language: str = "en") -> list[str]:
    return [text[start:end] for start, end in sentence_spans(text, language=language)]


@pytest.mark.parametrize(
    "expected",
    [
        ["Dr. Smith paid 3.14 dollars to Acme Inc. of Boston.", "He left at 5 p.m. today."],
        ["The U.S. is big.", "So, e.g. Texas, is it."],
        ["Visit https://example.com/a.b?c=d today!", "Or not?", "Well."],
        ["Wait... what?", "Yes… maybe."],
        ["He said “Stop. Now.” and left.", "Then he slept."],
        ["**Bold ends here.**", "Next one.", "And *ran.*", "Off."],
        ["Use os.Path and System.Out here.", "Version 2.0.1 is out."],
        ["A row | -1 (1) | 699 (2) | 785", ""],
    ],
)
def test_english_sentences(expected: list[str]) -> None:
    text = " ".join(expected)
    assert sentences(text) == [sentence for sentence in expected if sentence]


def test_chinese_and_japanese_need_no_spaces() -> None:
    assert sentences("我爱你。你呢？好！走吧。") == ["我爱你。", "你呢？", "好！", "走吧。"]
    assert sentences("「行く。」と言った。次。") == ["「行く。」", "と言った。", "次。"]


def test_offsets_are_code_points() -> None:
    assert sentence_spans("😀é one.  Two 👩‍👧 here.") == [(0, 7), (9, 22)]


@pytest.mark.parametrize("space", ["\xa0", "\x85", "\u2028", "\u3000"])
def test_wide_whitespace_after_an_initial_does_not_crash(space: str) -> None:
    assert sentences(f"Plan B{space}. Then C.") == [f"Plan B{space}.", "Then C."]


def test_blank_text_has_no_sentences() -> None:
    assert sentence_spans(" \n\t\u2028") == []
    assert sentence_spans("") == []


def test_a_sentence_across_a_window_stays_whole() -> None:
    long = ("Word " * 250).strip() + "."
    assert sentences(f"{long} {long} {long}") == [long] * 3


MARKS = ["a", "B", ".", "!", "。", "…", '"', "“", "”", "(", ")", "Dr. ", "3.14", "U.S. ", "word "]
SPACES = [" ", "\n", "\n\n", "\u2028", "\x85", "\xa0", "\u3000"]
CLUSTERS = ["é", "e\u0301", "😀", "\u200d", "👩"]
PIECES = st.sampled_from([*MARKS, *SPACES, *CLUSTERS])
TEXTS = st.one_of(
    st.text(max_size=200),
    st.lists(PIECES, max_size=60).map("".join),
    st.lists(PIECES, min_size=1, max_size=30).map(lambda pieces: "".join(pieces) * 300),
)


@settings(max_examples=150, deadline=None)
@given(TEXTS, st.sampled_from(["en", "de", "ja", "hi", "xx", ""]))
def test_spans_tile_any_text(text: str, language: str) -> None:
    done = 0
    for start, end in sentence_spans(text, language=language):
        assert done <= start < end
        assert not text[done:start].strip()
        assert text[start:end] == text[start:end].strip()
        done = end
    assert not text[done:].strip()


@pytest.mark.parametrize(
    ("piece", "times"),
    [("word ", 1_000_000), ("a", 5_000_000), ("🇩🇪", 500_000), ("A sentence here. ", 300_000)],
    ids=["words", "one word", "flags", "sentences"],
)
def test_five_megabytes_in_one_line(piece: str, times: int) -> None:
    assert sentence_spans(piece * times)
    assert_grows_linearly(sentence_spans, piece * (times // 4), piece * times)
