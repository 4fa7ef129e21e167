"""What heads and foots most pages of a PDF: found, and left out of its text."""

from collections import Counter
from collections.abc import Sequence
from math import ceil
from operator import attrgetter

from documents.lines import DIGITS, Line

EDGE_LINES = 3  # how many lines from the top, and from the bottom, may be header or footer
FEWEST_PAGES = 4
SHARE_OF_PAGES = 0.6
TOP, BOTTOM = attrgetter("top"), attrgetter("bottom")


def furniture(pages: Sequence[Sequence[Line]]) -> tuple[set[str], set[str]]:
    """The keys of the lines that head, and that foot, most pages: titles, dates, page numbers."""
    full = [page for page in pages if page]
    enough = max(FEWEST_PAGES, ceil(SHARE_OF_PAGES * len(full)))
    if len(full) < enough:
        return set(), set()
    heads = Counter(key for page in full for key in {masked(line) for line in top_lines(page)})
    feet = Counter(key for page in full for key in {masked(line) for line in bottom_lines(page)})
    return _frequent(heads, enough), _frequent(feet, enough)


def _frequent(counts: Counter[str], enough: int) -> set[str]:
    return {key for key, count in counts.items() if count >= enough}


def without_furniture(
    page: Sequence[Line], heads: set[str], feet: set[str]
) -> tuple[list[Line], list[str]]:
    """The page's own lines, and those that were taken out."""
    drop = {id(line) for line in top_lines(page) if masked(line) in heads}
    drop |= {id(line) for line in bottom_lines(page) if masked(line) in feet}
    kept = [line for line in page if id(line) not in drop]
    return kept, [line.text for line in page if id(line) in drop]


def top_lines(page: Sequence[Line]) -> list[Line]:
    return sorted(page, key=TOP, reverse=True)[:EDGE_LINES]


def bottom_lines(page: Sequence[Line]) -> list[Line]:
    return sorted(page, key=BOTTOM)[:EDGE_LINES]


def masked(line: Line) -> str:
    return DIGITS.sub("#", line.text.casefold())
