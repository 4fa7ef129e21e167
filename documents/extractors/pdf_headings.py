"""Headings of a PDF without an outline: what is set in larger letters than the text."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from documents.extractors.paged import Heading, Headings
from documents.extractors.writer import LONGEST_TITLE
from documents.lines import Joiner, Line

LARGER = 1.15  # times as high as the text
ALIKE = 1.06  # times higher at most: letters of one size
LEVELS = 3
LONGEST = 6  # lines
MOST = 0.3  # of the lines, besides a title: what is more is a poster, or a list of headings
FEWEST_LETTERS = 4
LETTERS_SHARE = 0.6  # of what is no space: formulas have less
SENTENCES = re.compile(r"[.!?]\s+\S+\s+\S+\s|\s\S+\s\S+\s\S+\s\S+\.$")  # a lead, in large letters
ADDRESS = re.compile(r"@|://|=")
NO_TITLE = re.compile(r"(?i)(?:table of )?contents$|inhalt|sommaire$|índice$|\d+(?:\.\d+)*[.)]?\s")

Span = tuple[int, int]


def printed_headings(pages: Sequence[Sequence[Line]]) -> tuple[str, Headings]:
    """The title, which is the largest on the first page, and the headings besides it.

    The title names the document; as a heading it would only part it from what stands above it.
    """
    usual = _usual_height(pages)
    found = [
        (index, span)
        for index, page in enumerate(pages if usual else ())
        for span in _large(page, LARGER * usual)
    ]
    joiner = Joiner(pages)
    on_first = [span for index, span in found if index == 0]
    place = max(on_first, key=lambda span: pages[0][span[0]].height, default=None)
    title = joiner.one_line(pages[0][slice(*place)]) if place else ""
    if not usual:
        title = _nothing_but_a_title(pages, joiner)
    if NO_TITLE.match(title):
        title, place = "", None
    others = [(index, span) for index, span in found if (index, span) != (0, place)]
    if sum(end - start for _, (start, end) in others) > MOST * sum(map(len, pages)):
        others = []
    headings = _by_page(pages, others, joiner)
    if place:
        own = [Heading(*place, 0, title), *headings.get(0, ())]
        headings[0] = sorted(own, key=lambda heading: heading.start)
    return title, headings


def _nothing_but_a_title(pages: Sequence[Sequence[Line]], joiner: Joiner) -> str:
    """What the whole document says, if it could be a title: a cover, a sign, a catalogue's card."""
    lines = [line for page in pages for line in page]
    if not lines or lines[0].box or not _is_heading(lines):
        return ""
    said = joiner.one_line(lines)
    return "" if SENTENCES.search(said) or said.endswith(".") else said


def _by_page(
    pages: Sequence[Sequence[Line]], found: Sequence[tuple[int, Span]], joiner: Joiner
) -> dict[int, list[Heading]]:
    levels = _levels({pages[index][start].height for index, (start, _) in found})
    headings: dict[int, list[Heading]] = {}
    for index, (start, end) in found:
        lines = pages[index][start:end]
        title = joiner.one_line(lines)
        if not SENTENCES.search(title):
            heading = Heading(start, end, levels[lines[0].height], title)
            headings.setdefault(index, []).append(heading)
    return headings


def _usual_height(pages: Sequence[Sequence[Line]]) -> float:
    """Of most characters; 0 where all are alike, or a page was read from a picture, whose heights
    tell little."""
    different = {line.height for page in pages for line in page}
    if not different or max(different) < LARGER * min(different):
        return 0.0
    heights: Counter[float] = Counter()
    for page in pages:
        if page and page[0].box:
            return 0.0
        for line in page:
            heights[line.height] += len(line.text)
    left = heights.total() / 2
    for height in sorted(heights):
        left -= heights[height]
        if left <= 0:
            return height
    return 0.0


def _large(page: Sequence[Line], least: float) -> Iterator[Span]:
    """Lines of one size that follow one another, as far as they can be one heading."""
    start = None
    for number, line in enumerate(page):
        is_large = line.height >= least
        if start is not None and not (is_large and _goes_on(page[number - 1], line)):
            if _is_heading(page[start:number]):
                yield start, number
            start = None
        if is_large and start is None:
            start = number
    if start is not None and _is_heading(page[start:]):
        yield start, len(page)


def _goes_on(above: Line, line: Line) -> bool:
    step = above.bottom - line.bottom
    return _alike(above.height, line.height) and 0 < step < 2 * line.height


def _alike(one: float, other: float) -> bool:
    return max(one, other) <= ALIKE * min(one, other)


def _is_heading(lines: Sequence[Line]) -> bool:
    words = " ".join(line.text for line in lines)
    if len(lines) > LONGEST or len(words) > LONGEST_TITLE or ADDRESS.search(words):
        return False
    letters = sum(map(str.isalpha, words))
    return letters >= max(FEWEST_LETTERS, LETTERS_SHARE * (len(words) - words.count(" ")))


def _levels(heights: set[float]) -> dict[float, int]:
    """1 for the largest letters, 2 for the next size."""
    levels: dict[float, int] = {}
    level, last = 0, float("inf")
    for height in sorted(heights, reverse=True):
        if not _alike(height, last):
            level, last = min(level + 1, LEVELS), height
        levels[height] = level
    return levels
