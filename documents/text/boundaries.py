"""Where a text may be cut: blank lines, list items, line ends, spaces, between graphemes.

All spans are in order, trimmed, and leave out nothing but whitespace.
"""

import re
from collections.abc import Iterable
from itertools import pairwise

import regex

Span = tuple[int, int]

BLANK_LINE = re.compile(r"\n\s*\n")
LIST_ITEM = re.compile(r"^[ \t]*(?:[-*+]|\d{1,9}[.)])(?=[ \t])", re.MULTILINE)
WORD = re.compile(r"\S+")
GRAPHEME = regex.compile(r"\X")
MAX_GRAPHEME = 64  # code points; longer ones are decoration and may be cut


def trimmed(text: str, start: int, end: int) -> Span:
    """Return the span without leading and trailing whitespace; it may become empty."""
    piece = text[start:end].rstrip()
    return start + len(piece) - len(piece.lstrip()), start + len(piece)


def paragraph_spans(text: str, start: int, end: int) -> list[Span]:
    return _between(text, start, end, (gap.end() for gap in BLANK_LINE.finditer(text, start, end)))


def item_spans(text: str, start: int, end: int) -> list[Span]:
    """Return list items; nested items are separate from their parents."""
    return _between(
        text, start, end, (item.start() for item in LIST_ITEM.finditer(text, start, end))
    )


def line_spans(text: str, start: int, end: int) -> list[Span]:
    spans = []
    while start < end:
        line_end = text.find("\n", start, end)
        stop = end if line_end < 0 else line_end + 1
        spans.append((start, stop))
        start = stop
    return _trim_all(text, spans)


def word_spans(text: str, start: int, end: int, *, length: int) -> list[Span]:
    """Return groups of whole words of up to `length` characters; a longer word is its own span."""
    spans: list[Span] = []
    for word in WORD.finditer(text, start, end):
        if spans and word.end() - spans[-1][0] <= length:
            spans[-1] = (spans[-1][0], word.end())
        else:
            spans.append(word.span())
    return spans


def character_spans(text: str, start: int, end: int, *, length: int) -> list[Span]:
    """Return pieces of about `length` characters, splitting a grapheme only if it is the whole
    span."""
    edges = [start]
    while end - edges[-1] > length:
        edges.append(min(end, grapheme_cut(text, edges[-1], edges[-1] + length)))
    if edges[-1] == end and len(edges) == 2:
        edges = [*range(start, end, length)]
    return _between(text, edges[0], end, edges[1:])


def grapheme_cut(text: str, start: int, target: int) -> int:
    """Return the last grapheme boundary up to `target`, or the first one after it."""
    if text[target - 1 : target + 1].isascii():
        return target
    # Search nearby only: \X is quadratic on a run of flags, which are pairs of letters.
    near = start + max(0, target - start - 2 * MAX_GRAPHEME) // 2 * 2
    cut = start
    for grapheme in GRAPHEME.finditer(text[near : target + MAX_GRAPHEME]):
        if near + grapheme.end() > target:
            return cut if cut > start else near + grapheme.end()
        cut = near + grapheme.end()
    return target


def _between(text: str, start: int, end: int, cuts: Iterable[int]) -> list[Span]:
    edges = [start, *cuts, end]
    return _trim_all(text, pairwise(edges))


def _trim_all(text: str, spans: Iterable[Span]) -> list[Span]:
    tight = (trimmed(text, start, end) for start, end in spans)
    return [(start, end) for start, end in tight if start < end]
