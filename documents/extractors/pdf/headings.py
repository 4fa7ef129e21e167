"""Headings of a PDF without an outline: larger, bold or numbered lines that stand alone."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from documents.extractors.lines import HYPHENS, Joiner, Line, is_row
from documents.extractors.paged import Heading, Headings
from documents.extractors.pdf.body import LARGER, Body
from documents.extractors.pdf.levels import (
    FoundHeading,
    is_company,
    keyword,
    names_section,
    with_levels,
)
from documents.extractors.pdf.rows import has_gaps
from documents.extractors.pdf.title import names_nothing
from documents.extractors.writer import MAX_TITLE_CHARACTERS

ALIKE = 1.06  # maximum ratio of heights that count as one size
MIN_HEIGHT = 0.85  # ratio to the height of the text; smaller lines are notes
MAX_LINES = 6
MAX_BOLD_LINES = 3  # of a heading that is not larger than the text
MAX_WORDS = 20  # of a heading that is not larger than the text
MAX_SHARE = 0.3  # of the lines, without the title; more headings mean a poster or a list
MIN_LETTERS = 4
LETTERS_SHARE = 0.6  # of the non-space characters; formulas have fewer letters
GAP = 1.25  # ratio to the usual line spacing; anything larger is white space
CLOSE = 1.5  # ratio to the height; lines of one heading are closer
SENTENCES = re.compile(r"[.!?]\s+\S+\s+\S+\s|\s\S+\s\S+\s\S+\s\S+\.$")  # a lead in large letters
ADDRESS = re.compile(r"@|://|=|____")
# Never a heading, however it is set: list items, tick boxes, signatures, periods, units.
NEVER = re.compile(
    r"(?i)[•◦▪‣●○■□☐☒☑*–—-]|/s/|\(|or$"
    r"|(?:for the )?(?:fiscal )?(?:years?|quarters?|periods?|(?:\w+ )?(?:months|weeks)) ended\b"
    r"|(?:as of |at )?(?:january|february|march|april|may|june|july|august|september|october"
    r"|november|december) \d{1,2}\b"
)
UNFINISHED = re.compile(r"(?i)(?:[,&–—]|\b(?:a|an|and|at|by|for|from|in|of|on|or|the|to|with))$")
ENDS_IN_PAGE = re.compile(r"[\s.]\d{1,3}$")  # as in a table of contents
AMOUNT = re.compile(r"(?:[$€£]\s?\(?\d[\d.,]*|\d,\d{3}|\d\.\d+|\d\s?%)\)?%?$")
NUMBER = re.compile(r"(?:\d{1,2}\.)+\s+")
KEYWORD_NUMBER = re.compile(r"\S+\s+\S+\s*")
NUMBERING = re.compile(r"(?:\d{1,2}(?:\.\d{1,2})*[.)]?|[IVX]+\.)\s+[^\W\d_]")
LOWERCASE = re.compile(r"[a-zß-ÿ]")

LineRange = tuple[int, int]
Zones = Mapping[int, Collection[int]]  # page, counted from 0 → the lines that are in a table


class Style(NamedTuple):
    """What makes a line stand out."""

    is_large: bool
    bold: bool
    italic: bool


def printed_headings(
    pages: Sequence[Sequence[Line]],
    bodies: Sequence[Body],
    zones: Zones,
    company: str = "",
) -> tuple[str, Headings]:
    """Return the title, which is the largest line on the first page, and the other headings.

    The title opens no section, because it names the whole document. `company` is set for a filing,
    whose first page is a form with many bold words and no sections.
    """
    joiner = Joiner(pages)
    found = [
        one
        for index, (page, body) in enumerate(zip(pages, bodies, strict=True))
        for one in _on_page(index, page, body, zones.get(index, ()), joiner)
    ]
    title, place = _title(pages, bodies, found, joiner)
    others = [
        one
        for one in found
        if (one.page or (not company and (one.start, one.end) != place))
        and one.title.casefold() != company.casefold()
        and not one.title[0].islower()  # the label of a figure, or the end of a sentence
    ]
    doubtful = sum(one.end - one.start for one in others if not names_section(one.title))
    if doubtful > MAX_SHARE * sum(map(len, pages)):
        others = [one for one in others if names_section(one.title)]
    headings = with_levels(others)
    if place:
        own = [Heading(*place, 0, title), *headings.get(0, ())]
        headings[0] = sorted(own, key=lambda heading: heading.start)
    return title, headings


def _title(
    pages: Sequence[Sequence[Line]],
    bodies: Sequence[Body],
    found: Sequence[FoundHeading],
    joiner: Joiner,
) -> tuple[str, LineRange | None]:
    if not bodies[0].height:
        title = _nothing_but_a_title(pages, joiner)
        return ("" if names_nothing(title) else title), None
    large = [one for one in found if not one.page and one.is_large and not names_nothing(one.title)]
    best = max(large, key=lambda one: one.height, default=None)
    if best is None or _is_a_section(best, found):
        return "", None
    return best.title, (best.start, best.end)


def _is_a_section(best: FoundHeading, found: Sequence[FoundHeading]) -> bool:
    """Whether it looks like the headings of later pages and is not at the top of its page."""
    alike = [one for one in found if one.page and _alike(one.height, best.height)]
    return best.start > MAX_LINES and len(alike) > 1


def _nothing_but_a_title(pages: Sequence[Sequence[Line]], joiner: Joiner) -> str:
    """Return the whole text if it could be a title, as of a cover, a sign or a catalogue card."""
    lines = [line for page in pages for line in page]
    if not lines or lines[0].box or not _has_letters(lines, MAX_LINES):
        return ""
    words = joiner.one_line(lines)
    return "" if SENTENCES.search(words) or words.endswith(".") else words


def _on_page(
    index: int, page: Sequence[Line], body: Body, zone: Collection[int], joiner: Joiner
) -> Iterator[FoundHeading]:
    if not page or page[0].box:
        return
    for start, end, style in _groups(page, body, zone):
        lines = page[start:end]
        title = joiner.one_line(lines)
        if _is_heading(page, (start, end), style, body, title):
            yield FoundHeading(
                page=index,
                start=start - _is_below_company(page, start, zone),
                end=end,
                title=title,
                height=lines[0].height,
                is_large=style.is_large,
                bold=lines[0].bold,
                italic=lines[0].italic,
            )


def _is_below_company(page: Sequence[Line], start: int, zone: Collection[int]) -> bool:
    """Merge the company's name above a statement into one heading, titled by the statement."""
    if not start or start - 1 in zone:
        return False
    above, line = page[start - 1], page[start]
    step = above.bottom - line.bottom
    return is_company(above.text) and 0 < step < 2 * line.height


def _groups(
    page: Sequence[Line], body: Body, zone: Collection[int]
) -> Iterator[tuple[int, int, Style]]:
    """Group consecutive lines that stand out and can be one heading."""
    start, style = 0, None
    for number, line in enumerate(page):
        own = None if number in zone else _style(line, body)
        if style and own == style and _goes_on(page[start:number], line, style, body):
            continue
        if style:
            yield start, number, style
        start, style = number, own
    if style:
        yield start, len(page), style


def _style(line: Line, body: Body) -> Style | None:
    is_large = body.height > 0 and line.height >= LARGER * body.height
    bold = line.bold and not body.is_bold
    if not (is_large or bold or line.italic or keyword(line.text)):
        return None
    if line.height < MIN_HEIGHT * body.height:
        return None
    # Large letters are one heading even if a word in it is bold.
    return Style(is_large, bold and not is_large, line.italic and not is_large)


def _goes_on(lines: Sequence[Line], line: Line, style: Style, body: Body) -> bool:
    above = lines[-1]
    step = above.bottom - line.bottom
    if not _alike(above.height, line.height) or not 0 < step < CLOSE * line.height:
        return False
    if keyword(line.text) or NUMBERING.match(line.text):
        return False
    if len(lines) > 1 and step > GAP * (lines[-2].bottom - above.bottom):
        return False
    if LOWERCASE.match(line.text) or UNFINISHED.search(above.text) or above.text[-1] in HYPHENS:
        return True
    if style.is_large:
        return _is_aligned(above, line)
    # Otherwise only a full line continues; shorter ones are separate headings.
    word = line.text.partition(" ")[0]
    width = (above.right - above.left) / len(above.text)
    return above.right + (len(word) + 1) * width > body.right and _is_aligned(above, line)


def _is_aligned(above: Line, line: Line) -> bool:
    """Whether both lines start at the same left edge or share a centre."""
    off_centre = abs(above.left + above.right - line.left - line.right) / 2
    return min(abs(above.left - line.left), off_centre) < line.height


def _alike(one: float, other: float) -> bool:
    return max(one, other) <= ALIKE * min(one, other)


def _is_heading(
    page: Sequence[Line], span: LineRange, style: Style, body: Body, title: str
) -> bool:
    lines = page[slice(*span)]
    max_lines = MAX_LINES if style.is_large else MAX_BOLD_LINES
    if not _has_letters(lines, max_lines) or NEVER.match(title) or _is_prose(title):
        return False
    if is_row(title) or AMOUNT.search(title):
        return False
    if style.is_large:
        return True
    if is_company(title) or not (title[0].isupper() or title[0].isdigit()):
        return False
    if has_gaps(lines[0], body) and not (names_section(title) or NUMBERING.match(title)):
        return False  # it is a table header
    above, below = _gaps(page, span, body)
    if keyword(title):
        return (above or (below and style.bold)) and not ENDS_IN_PAGE.search(title)
    words = len(title.split())
    if style.bold:
        return (above or below) and words <= MAX_WORDS
    # Italics alone make a heading, but next to other text they are emphasis.
    return above and below and words <= MAX_WORDS // 2 and title[-1] not in ".;,:"


def _is_prose(title: str) -> bool:
    if not keyword(title):
        return bool(SENTENCES.search(NUMBER.sub("", title, count=1)))
    # "Item 7. Management’s Discussion and Analysis of Financial Condition." is no sentence.
    return bool(SENTENCES.search(KEYWORD_NUMBER.sub("", title, count=1).rstrip(".")))


def _gaps(page: Sequence[Line], span: LineRange, body: Body) -> tuple[bool, bool]:
    """Whether there is white space above and below; text beside it counts as none.

    Headings directly below each other count as one.
    """
    start, end = span
    if not body.is_bold and page[start].bold:
        while start and page[start - 1].bold and start > span[0] - MAX_LINES:
            start -= 1
        while end < len(page) and page[end].bold and end < span[1] + MAX_LINES:
            end += 1
    first, last = page[start], page[end - 1]
    above = page[start - 1] if start else None
    below = page[end] if end < len(page) else None
    if any(other and _is_beside(other, first) for other in (above, below)):
        return False, False
    return (
        above is None or _is_apart(above.bottom - first.bottom, first, body),
        below is None or _is_apart(last.bottom - below.bottom, last, body),
    )


def _is_beside(other: Line, line: Line) -> bool:
    return abs(other.bottom - line.bottom) < 0.3 * line.height


def _is_apart(step: float, line: Line, body: Body) -> bool:
    return step < 0 or step > GAP * max(body.pitch, line.height)


def _has_letters(lines: Sequence[Line], max_lines: int) -> bool:
    words = " ".join(line.text for line in lines)
    if len(lines) > max_lines or len(words) > MAX_TITLE_CHARACTERS or ADDRESS.search(words):
        return False
    letters = sum(map(str.isalpha, words))
    return letters >= max(MIN_LETTERS, LETTERS_SHARE * (len(words) - words.count(" ")))
