"""Turn the lines of pages into one text with paragraphs, headings and pages."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from documents.extractors.lines import LINE_HYPHEN, Joiner, Line, confidence, hull, pitch_of
from documents.passages import Block, Page

NOT_KEY = re.compile(r"[\W_]+")
NUMBERING = re.compile(
    r"^(?:(?:chapter|section|part|appendix|kapitel|teil|abschnitt|chapitre|partie|capítulo)\s+)?"
    r"(?:\d+(?:\.\d+)*|[A-Z](?:\.\d+)+|[A-Z]|[IVXLC]+)[.):]?\s+",
    re.IGNORECASE,
)
HEADING_LINES = 3


@dataclass(frozen=True, slots=True)
class OutlineEntry:
    """One line of a PDF's outline; pages are counted from 0."""

    page: int
    level: int
    title: str


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading at lines[start:end] of a page. Level 0 opens no section."""

    start: int
    end: int
    level: int
    title: str


class TableLines(Protocol):
    """A table at lines[start:end] of a page; its first `head` lines name the columns."""

    @property
    def start(self) -> int: ...
    @property
    def end(self) -> int: ...
    @property
    def head(self) -> int: ...


Headings = Mapping[int, Sequence[Heading]]  # by page, counted from 0, in order
PageTables = Mapping[int, Sequence[TableLines]]  # the same


@dataclass(frozen=True, slots=True)
class PagePart:
    """A paragraph, heading or table, and its lines."""

    text: str
    lines: Sequence[Line]
    heading: Heading | None = None
    table: TableLines | None = None


def assembled(
    pages: Sequence[list[Line]],
    headings: Headings | None = None,
    tables: PageTables | None = None,
) -> tuple[str, tuple[Block, ...], tuple[Page, ...]]:
    joiner = Joiner(pages)
    headings, tables = headings or {}, tables or {}
    texts: list[str] = []
    blocks: list[Block] = []
    spans: list[Page] = []
    start = 0
    for index, lines in enumerate(pages):
        sure = _rounded_confidence(lines)
        parts: list[Heading | TableLines] = [*headings.get(index, ()), *tables.get(index, ())]
        parts.sort(key=lambda part: part.start)
        pieces = list(_pieces(joiner, lines, parts))
        place = start
        for piece in pieces:
            blocks.append(_block(place, piece, sure))
            place += len(piece.text) + 2
        texts.append("\n\n".join(piece.text for piece in pieces))
        spans.append(Page(index + 1, start, start + len(texts[-1]), sure))
        start = spans[-1].end + 2
    return "\n\n".join(texts), tuple(blocks), tuple(spans)


def _rounded_confidence(lines: Sequence[Line]) -> float | None:
    sure = confidence(lines)
    return None if sure is None else round(sure, 3)


def _block(start: int, piece: PagePart, sure: float | None) -> Block:
    end = start + len(piece.text)
    attributes: dict[str, Any] = {}
    if box := hull(piece.lines):
        # The confidence of the page, so that a chunk of several paragraphs has one as well.
        attributes = {"boxes": [[round(share, 4) for share in box]], "ocr_confidence": sure}
    if piece.heading and piece.heading.level:
        level, title = piece.heading.level, piece.heading.title
        return Block("heading", start, end, level=level, title=title, attributes=attributes)
    if piece.table:
        attributes = attributes | {"header_lines": piece.table.head}
        return Block("table", start, end, attributes=attributes)
    return Block("text", start, end, attributes=attributes)


def _pieces(
    joiner: Joiner, lines: list[Line], parts: Sequence[Heading | TableLines]
) -> Iterator[PagePart]:
    """`parts` do not overlap."""
    pitch = pitch_of(lines) if lines else None
    done = 0
    for part in parts:
        yield from (PagePart(*one) for one in joiner.paragraphs(lines[done : part.start], pitch))
        done = part.end
        own = lines[part.start : done]
        if isinstance(part, Heading):
            # A heading is one block, whatever its lines look like.
            yield PagePart(joiner.one_line(own), own, heading=part)
        else:
            text = "\n".join(line.text for line in own).replace(LINE_HYPHEN, "-")
            yield PagePart(text, own, table=part)
    yield from (PagePart(*one) for one in joiner.paragraphs(lines[done:] if done else lines, pitch))


def outlined(pages: Sequence[Sequence[Line]], entries: Sequence[OutlineEntry]) -> Headings:
    """Return the positions of the outline's titles in the text."""
    by_page: dict[int, list[OutlineEntry]] = {}
    for entry in entries:
        by_page.setdefault(entry.page, []).append(entry)
    numbers = sorted(number for number in by_page if number < len(pages))
    return {number: _headings(pages[number], by_page[number]) for number in numbers}


def is_usable(outline: Headings, entries: Sequence[OutlineEntry]) -> bool:
    """Whether enough of the outline's titles occur in the text: some outlines are junk."""
    found = sum(map(len, outline.values()))
    return found > 1 and found * 3 >= len(entries)  # a single entry only repeats the title


def _headings(lines: Sequence[Line], entries: Sequence[OutlineEntry]) -> list[Heading]:
    """Find the outline's titles among a page's lines, using each line once."""
    places: dict[str, list[tuple[int, int]]] = {}
    for start in range(len(lines)):
        for end in range(start + 1, min(start + HEADING_LINES, len(lines)) + 1):
            words = " ".join(line.text for line in lines[start:end])
            for key in {_key(words), _key(NUMBERING.sub("", words, count=1))}:
                places.setdefault(key, []).append((start, end))
    left = {key: iter(spans) for key, spans in places.items() if key}
    taken: set[int] = set()
    found = []
    for entry in entries:
        keys = (_key(entry.title), _key(NUMBERING.sub("", entry.title, count=1)))
        spans = (span for key in keys for span in left.get(key, ()))
        if span := next((span for span in spans if taken.isdisjoint(range(*span))), None):
            taken.update(range(*span))
            found.append(Heading(*span, entry.level, entry.title))
    return sorted(found, key=lambda heading: heading.start)


def _key(words: str) -> str:
    return NOT_KEY.sub("", words.casefold())
