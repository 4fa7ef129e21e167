"""The published scores, by small examples; and the yardstick splitter."""

import pytest

from evaluation.benchmarks.data.excerpts import ExcerptQuestion, Retrieved, Scores, score
from evaluation.benchmarks.peers.recursive import RecursiveSplitter

QUESTION = ExcerptQuestion("?", "a", ((10, 20), (40, 50)))


def scores(*spans: tuple[int, int], corpus: str = "a") -> Scores:
    return score(QUESTION, [Retrieved(corpus, span) for span in spans])


def test_what_is_found_is_counted_once_and_what_is_fetched_each_time() -> None:
    assert scores((0, 30)) == Scores(recall=10 / 20, precision=10 / 30, iou=10 / 40)
    assert scores((0, 30), (10, 30)) == Scores(recall=10 / 20, precision=10 / 50, iou=10 / 60)
    assert scores((10, 20), (40, 50)) == Scores(recall=1, precision=1, iou=1)


def test_another_corpus_costs_but_finds_nothing() -> None:
    assert scores((0, 60), corpus="b") == Scores(recall=0, precision=0, iou=0)


@pytest.mark.parametrize(
    ("text", "size", "overlap", "expected"),
    [
        ("one two.\n\nthree four", 13, 0, ["one two.", "three four"]),
        ("one two three four", 9, 0, ["one two", "three", "four"]),
        ("a b c d", 4, 2, ["a b", "b c", "c d"]),
        ("abcdef", 3, 0, ["abc", "def"]),
        (" \n\n ", 3, 0, []),
    ],
)
def test_recursive_cuts_at_the_best_separator_first(
    text: str, size: int, overlap: int, expected: list[str]
) -> None:
    spans = RecursiveSplitter(len, size=size, overlap=overlap).split(text)
    assert [text[start:end] for start, end in spans] == expected
