"""Find running headers and footers of a PDF, and leave them out of its text."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from math import ceil
from operator import attrgetter

from documents.extractors.lines import DIGITS, Line

EDGE_LINES = 3  # number of lines at the top and at the bottom that may be header or footer
MIN_PAGES = 4
SHARE_OF_PAGES = 0.6
# For lines at exactly the same position: fewer pages, such as one part of a long file.
MANY_PAGES = 8
SHARE_OF_MANY = 0.04
TOLERANCE = 3.0  # points
TOP, BOTTOM = attrgetter("top"), attrgetter("bottom")
PAGE_NUMBER = re.compile(r"[-–—\s]*(?:[Pp]age\s+)?(\d{1,4})[-–—\s]*")

LinePlace = tuple[str, int, int]


def without_furniture(
    pages: Sequence[Sequence[Line]],
) -> tuple[list[list[Line]], list[list[str]]]:
    """Return each page's own lines, and the lines that were removed."""
    heads, feet = _frequent_keys(pages)
    places = _frequent_places(pages)
    numbers = _page_numbers(pages)
    seen: set[str] = set()
    kept: list[list[Line]] = []
    dropped: list[list[str]] = []
    for index, page in enumerate(pages):
        tops, bottoms = top_lines(page), bottom_lines(page)
        drop = {id(line) for line in tops if masked(line) in heads}
        drop |= {id(line) for line in bottoms if masked(line) in feet}
        if places:
            drop |= {id(line) for line in _repeated((*tops, *bottoms), places, seen)}
        if index in numbers:
            drop.add(id(numbers[index]))
        kept.append([line for line in page if id(line) not in drop])
        dropped.append([line.text for line in page if id(line) in drop])
    return kept, dropped


def _frequent_keys(pages: Sequence[Sequence[Line]]) -> tuple[set[str], set[str]]:
    """Return the keys of header and footer lines of most pages: titles, dates, page numbers."""
    full = [page for page in pages if page]
    enough = max(MIN_PAGES, ceil(SHARE_OF_PAGES * len(full)))
    if len(full) < enough:
        return set(), set()
    heads = Counter(key for page in full for key in {masked(line) for line in top_lines(page)})
    feet = Counter(key for page in full for key in {masked(line) for line in bottom_lines(page)})
    return _frequent(heads, enough), _frequent(feet, enough)


def _frequent(counts: Counter[str], enough: int) -> set[str]:
    return {key for key, count in counts.items() if count >= enough}


def _frequent_places(pages: Sequence[Sequence[Line]]) -> set[LinePlace]:
    """Return lines that many pages have at exactly the same position."""
    counts: Counter[LinePlace] = Counter()
    for page in pages:
        edges = (*top_lines(page), *bottom_lines(page))
        counts.update({place for line in edges if (place := _place(line))})
    enough = max(MANY_PAGES, ceil(SHARE_OF_MANY * sum(map(bool, pages))))
    return {place for place, count in counts.items() if count >= enough}


def _repeated(edges: Sequence[Line], places: set[LinePlace], seen: set[str]) -> Iterator[Line]:
    """Return all but the first line, which may be the heading of the pages that follow."""
    for line in edges:
        place = _place(line)
        if place and place in places:
            if place[0] in seen:
                yield line
            seen.add(place[0])


def _place(line: Line) -> LinePlace | None:
    """Return None for a line with two numbers, which may be the header of a table."""
    if len(DIGITS.findall(line.text)) > 1:
        return None
    return masked(line), round(line.left / TOLERANCE), round(line.bottom / TOLERANCE)


def _page_numbers(pages: Sequence[Sequence[Line]]) -> dict[int, Line]:
    """Return the outermost lines that are numbers counting up from page to page."""
    found: dict[int, list[tuple[int, Line]]] = {}
    for index, page in enumerate(pages):
        for line in (*bottom_lines(page)[:1], *top_lines(page)[:1]):
            if number := PAGE_NUMBER.fullmatch(line.text):
                found.setdefault(int(number[1]) - index, []).append((index, line))
    return dict(one for same in found.values() if len(same) >= MIN_PAGES for one in same)


def top_lines(page: Sequence[Line]) -> list[Line]:
    return sorted(page, key=TOP, reverse=True)[:EDGE_LINES]


def bottom_lines(page: Sequence[Line]) -> list[Line]:
    return sorted(page, key=BOTTOM)[:EDGE_LINES]


def masked(line: Line) -> str:
    return DIGITS.sub("#", line.text.casefold())
