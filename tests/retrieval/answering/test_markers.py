"""Markers in all the ways models write them, whatever the pieces they come in."""

import pytest

from retrieval.answering.checks.markers import DROPPED, MARKER, MAX_BODY, MarkerParser


def parse(text: str, *, size: int = 0) -> tuple[str, list[list[str]], int, int]:
    parser = MarkerParser(["a1", "b2", "Kx9"])
    pieces = [text[n : n + size] for n in range(0, len(text), size)] if size else [text]
    out = "".join(parser.feed(piece) for piece in pieces) + parser.feed("", final=True)
    return out, [marker.ids for marker in parser.markers], parser.unknown_ids, parser.malformed


@pytest.mark.parametrize("size", [0, 1, 3])
@pytest.mark.parametrize(
    ("written", "ids"),
    [
        ("[cite:a1]", [["a1"]]),
        ("[cite: a1]", [["a1"]]),
        ("[ cite : a1 ]", [["a1"]]),
        ("[cite:a1, b2]", [["a1", "b2"]]),
        ("[cite:a1; cite:b2]", [["a1", "b2"]]),
        ("[cite:a1][cite:b2]", [["a1"], ["b2"]]),
        ("[CITE:A1]", [["a1"]]),
        ("[cite:kx9]", [["Kx9"]]),
        ("【cite:a1】", [["a1"]]),
        ("［cite：a1］", [["a1"]]),
        ("[cite:a1†L1-2]", [["a1"]]),
        ("\\[cite:a1\\]", [["a1"]]),
        ("[[cite:a1]]", [["a1"]]),
        ("[^cite:a1]", [["a1"]]),
        ("[cite a1]", [["a1"]]),
        ("[cite:`a1`]", [["a1"]]),
        ("[cite:a1, p. 3]", [["a1"]]),
        ("[cite:a1 and b2]", [["a1", "b2"]]),
        ("[cite:a1, a1]", [["a1"]]),
    ],
)
def test_known_ids_are_read_in_every_spelling(written, ids, size):
    out, found, unknown, malformed = parse(f"Claim {written}.", size=size)
    assert out == f"Claim {MARKER * len(ids)}."
    assert found == ids
    assert (unknown, malformed) == (0, 0)


@pytest.mark.parametrize("size", [0, 1, 3])
@pytest.mark.parametrize(
    ("written", "unknown", "malformed"),
    [
        ("[cite:zz]", 1, 0),
        ("[cite:zz, yy]", 2, 0),
        ("[cite:]", 0, 1),
        ("[cite]", 0, 1),
        ("[cite:†]", 0, 1),
    ],
)
def test_what_names_no_passage_is_dropped_and_counted(written, unknown, malformed, size):
    out, found, *counts = parse(f"Claim {written}.", size=size)
    assert out == f"Claim {DROPPED}."
    assert not found
    assert counts == [unknown, malformed]


def test_known_and_unknown_ids_of_one_marker_part():
    out, found, unknown, malformed = parse("x [cite:zz, b2]")
    assert (out, found, unknown, malformed) == (f"x {MARKER}", [["b2"]], 1, 0)


@pytest.mark.parametrize("size", [0, 1, 7])
def test_an_unclosed_marker_is_malformed_and_its_text_goes_on(size):
    text = "x [cite:a1 " + "and more text " * 20
    out, found, _, malformed = parse(text, size=size)
    assert not found
    assert malformed == 1
    assert out == f"x {DROPPED} " + "and more text " * 20


@pytest.mark.parametrize(
    "text", ["[1]", "a[0] = b", "[link](https://x.example)", "[citation needed]"]
)
def test_other_brackets_are_text(text):
    assert parse(text) == (text, [], 0, 0)


def test_nothing_that_may_become_a_marker_leaves_and_no_more_than_that_is_held():
    parser = MarkerParser(["a1"])
    assert parser.feed("Claim ") == "Claim "
    assert parser.feed("[ci") == ""
    assert parser.feed("te:a") == ""
    assert parser.feed("1] next") == f"{MARKER} next"
    assert parser.feed("[cite:") == ""
    assert len(parser.feed("x" * (MAX_BODY + 1))) > MAX_BODY - 50
