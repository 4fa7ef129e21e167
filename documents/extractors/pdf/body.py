"""Determine how the body text of a PDF is set, so that headings and tables stand out from it."""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from documents.extractors.lines import Line, pitch_of

LARGER = 1.15  # ratio to the height of the text
ENOUGH = 600  # characters of a page; with fewer, the whole document decides
BOLD_SHARE = 0.4  # of the characters; if more are bold, bold has no meaning
LONG_LINE = 50  # characters
LETTER_WIDTH = 0.5  # ratio to a letter's height, if no line is long enough to measure
MIN_WIDTH, MAX_WIDTH = 0.3, 0.6


class Body(NamedTuple):
    """How most letters of a page are set. Height 0: the size of letters has no meaning."""

    height: float
    is_bold: bool
    right: float  # where lines end
    pitch: float  # distance from line to line
    letter_width: float  # usual width of a letter, as a fraction of the height


def bodies(pages: Sequence[Sequence[Line]]) -> list[Body]:
    """Return the body style of each page."""
    lines = [line for page in pages for line in page]
    whole = _height(lines) if _differ(lines) else 0.0
    is_bold = _is_bold(lines)
    letter_width = _letter_width(lines)
    return [
        Body(
            # At least that of the document: a page of tables has small letters.
            height=max(whole, _height(page)) if whole and _is_enough(page) else whole,
            is_bold=_is_bold(page) if _is_enough(page) else is_bold,
            right=max((line.right for line in page), default=0.0),
            pitch=pitch_of(page) if page else 0.0,
            letter_width=letter_width,
        )
        for page in pages
    ]


def _is_enough(page: Sequence[Line]) -> bool:
    return sum(len(line.text) for line in page) >= ENOUGH


def _differ(lines: Sequence[Line]) -> bool:
    """Whether sizes have a meaning: not if all are alike, or were read from a picture."""
    heights = {line.height for line in lines}
    if not heights or max(heights) < LARGER * min(heights):
        return False
    return not any(line.box for line in lines)


def _height(lines: Sequence[Line]) -> float:
    """Return the height of most characters."""
    heights: Counter[float] = Counter()
    for line in lines:
        heights[line.height] += len(line.text)
    left = heights.total() / 2
    for height in sorted(heights):
        left -= heights[height]
        if left <= 0:
            return height
    return 0.0


def _is_bold(lines: Sequence[Line]) -> bool:
    bold = sum(len(line.text) for line in lines if line.bold)
    return bold > BOLD_SHARE * sum(len(line.text) for line in lines)


def _letter_width(lines: Sequence[Line]) -> float:
    """Return the letter width of the most tightly set lines; others may be rows with gaps."""
    widths = sorted(
        (line.right - line.left) / len(line.text) / line.height
        for line in lines
        if len(line.text) >= LONG_LINE
    )
    usual = widths[len(widths) // 4] if widths else LETTER_WIDTH
    return min(max(usual, MIN_WIDTH), MAX_WIDTH)
