"""Determine heading levels of a PDF: by words (Part, Item, Note), then by how they are set."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from documents.extractors.paged import Heading

LEVELS = 6
ALIKE = 1.06  # maximum ratio of heights that count as one size

Rank = tuple[int, int]

PART, ITEM, STATEMENT, NOTE, OTHER = range(1, 6)
INITIALS = frozenset("PEASIN")
KEYWORDS = (
    (PART, re.compile(r"(?:PART|Part)\s+(?:[IVX]+|\d+)\b(?!\s+of\b)")),
    (PART, re.compile(r"(?:EXHIBIT|Exhibit|APPENDIX|Appendix|ANNEX|Annex)\s+[\dA-Z]")),
    (PART, re.compile(r"(?:SIGNATURES?|Signatures?)$")),
    (ITEM, re.compile(r"(?:ITEM|Item)\s+\d{1,2}[A-C]?\b\s*[.:–—-]?(?:\s|$)")),
    (NOTE, re.compile(r"(?:NOTE|Note)\s+\d{1,2}[A-Z]?\s*(?:[.:–—-]|$)")),
)
STATEMENTS = re.compile(
    r"(?i)(?:[\w.]+ ){0,3}?consolidated (?:\w+ )?(?:statements?|balance sheets?)\b"
    r"|(?:\w+ ){0,2}?(?:balance sheets?|statements? of (?:cash flows?|income|earnings|operations))$"
    r"|notes to (?:the )?(?:\w+ ){0,3}financial statements"
    r"|report of independent|management[’']s report"
)
# A company's name above its statements; the next line says which statement it is.
COMPANY = re.compile(
    r"(?i)(?:\S+ ){1,5}(?:and (?:its )?(?:consolidated )?subsidiar(?:y|ies)(?: companies)?"
    r"|(?:inc|corp|ltd|co)\.|plc|incorporated)$"
)
NOTES = re.compile(r"(?i)notes to (?:the )?(?:\w+ ){0,3}financial statements")
NUMBERED = re.compile(r"\d{1,2}[.)]?\s+[A-Z]")
CONTINUED = re.compile(r"(?i)\s*[\(–—-]?\s*\(?cont(?:inued|[’']?d\.?)\)?\s*$")
NOT_KEY = re.compile(r"[\W_]+")


@dataclass(frozen=True, slots=True)
class FoundHeading:
    """A heading whose level is not known yet: lines[start:end] of a page, counted from 0."""

    page: int
    start: int
    end: int
    title: str
    height: float
    is_large: bool
    bold: bool
    italic: bool

    @property
    def looks(self) -> tuple[bool, bool, bool]:
        """Sort key for one size: bold before regular, capitals before lower case."""
        return not self.bold, not self.title.isupper(), self.italic


def keyword(words: str) -> int | None:
    """Return the rank of a heading with a keyword; None for others."""
    if words[:1] not in INITIALS:  # most lines
        return None
    return next((rank for rank, pattern in KEYWORDS if pattern.match(words)), None)


def is_company(words: str) -> bool:
    return bool(COMPANY.match(words))


def names_section(words: str) -> bool:
    """Whether its words alone show that it is a section of a report."""
    return keyword(words) is not None or bool(STATEMENTS.match(words))


def with_levels(found: Sequence[FoundHeading]) -> dict[int, list[Heading]]:
    """Put each heading one level below the open heading of the next higher rank.

    A heading that is repeated while open, for example at the top of a page, opens no new section.
    """
    opened: list[tuple[Rank, str]] = []
    headings: dict[int, list[Heading]] = {}
    for one, rank in zip(found, _ranks(found), strict=True):
        key = _key(one.title)
        level = 0
        if all(key != open_key for _, open_key in opened):
            opened = [(higher, open_key) for higher, open_key in opened if higher < rank]
            opened.append((rank, key))
            level = min(len(opened), LEVELS)
        title = CONTINUED.sub("", one.title) or one.title
        headings.setdefault(one.page, []).append(Heading(one.start, one.end, level, title))
    return headings


def _key(title: str) -> str:
    return NOT_KEY.sub("", CONTINUED.sub("", title).casefold())


def _ranks(found: Sequence[FoundHeading]) -> list[Rank]:
    styles = _style_ranks(found)
    has_keywords = any(keyword(one.title) for one in found)
    ranks = []
    in_notes = False
    for one, style in zip(found, styles, strict=True):
        rank = OTHER
        if (word := keyword(one.title)) is not None:
            rank = word
        elif has_keywords and STATEMENTS.match(one.title):
            rank = STATEMENT
        elif in_notes and one.bold and NUMBERED.match(one.title):
            rank = NOTE
        if rank <= STATEMENT:
            in_notes = rank == STATEMENT and bool(NOTES.match(one.title))
        ranks.append((rank, style if rank == OTHER else 0))
    return ranks


def _style_ranks(found: Sequence[FoundHeading]) -> list[int]:
    """Rank styles from 0: the largest first, and bold before regular."""
    sizes: dict[float, int] = {}
    size, last = -1, float("inf")
    for height in sorted({one.height for one in found}, reverse=True):
        if height * ALIKE < last:
            size, last = size + 1, height
        sizes[height] = size
    styles = [(sizes[one.height], one.looks) for one in found]
    order = {style: rank for rank, style in enumerate(sorted(set(styles)))}
    return [order[style] for style in styles]
