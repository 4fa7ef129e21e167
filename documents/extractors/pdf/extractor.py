"""PDF: read page by page with PDFium, or with pypdf what PDFium cannot open or misreads."""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from ctypes import c_char
from dataclasses import dataclass, field
from itertools import islice
from mmap import ACCESS_COPY, mmap
from threading import Lock
from typing import Any, BinaryIO

import pypdfium2

from documents.errors import BadFile, EmptyFile, NoText, ParseError, TooComplex
from documents.extractors.base import FileExtractor, size_of
from documents.extractors.cleaning import clean
from documents.extractors.lines import Line, merged, tidy
from documents.extractors.paged import OutlineEntry, assembled, is_usable, outlined
from documents.extractors.pages import MAX_LISTED_PAGES, counted
from documents.extractors.pdf.body import bodies
from documents.extractors.pdf.furniture import without_furniture
from documents.extractors.pdf.headings import printed_headings
from documents.extractors.pdf.info import MAX_VALUE_CHARACTERS, metadata_of, title_of
from documents.extractors.pdf.layout import rows_together
from documents.extractors.pdf.lines import lines_of
from documents.extractors.pdf.scans import Scans, read_scans
from documents.extractors.pdf.second_reader import SecondReader, needs_password
from documents.extractors.pdf.tables import outside, tables_of
from documents.extractors.pdf.title import cover_of
from documents.extractors.writer import MAX_TITLE_CHARACTERS
from documents.passages import Extracted

MAX_ENTRIES = 20_000  # in an outline
RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")
PASSWORD = re.compile("(?i)password|security")
PDFIUM = Lock()  # the library is not thread-safe


@dataclass(slots=True)
class Reading:
    """What a library has read: lines in reading order, None for a page that it cannot read."""

    pages: list[list[Line] | None] = field(default_factory=list)
    entries: list[OutlineEntry] = field(default_factory=list)
    info: dict[str, str] = field(default_factory=dict)
    scans: Scans = field(default_factory=Scans)

    @property
    def lines(self) -> list[list[Line]]:
        return [page or [] for page in self.pages]


class PdfExtractor(FileExtractor):
    def __init__(self, *, max_pages: int = 5000, max_characters: int = 20_000_000) -> None:
        self.max_pages = max_pages
        self.max_characters = max_characters

    def extract_file(self, file: BinaryIO, *, name: str = "") -> Extracted:
        if not size_of(file):
            raise EmptyFile("The file is empty: it has no bytes at all.")
        reading = self._read(file)
        pages, removed = _own_lines(reading.lines)
        blank = [number for number, page in enumerate(pages, start=1) if not page]
        if len(blank) == len(pages):
            raise _nothing_read(reading)
        measured = bodies(pages)
        found = [tables_of(page, body) for page, body in zip(pages, measured, strict=True)]
        pages = [one.lines for one in found]
        zones = {index: one.zone for index, one in enumerate(found) if one.tables or one.contents}
        cover = cover_of(pages[0])
        company = cover.company if cover else ""
        printed, headings = printed_headings(pages, measured, zones, company)
        title = title_of(reading.info.get("Title", "")) or printed
        outline = outlined(pages, reading.entries)
        if is_usable(outline, reading.entries):
            headings = outline
        tables = {index: one.tables for index, one in enumerate(found) if one.tables}
        headings = outside(tables, headings)
        text, blocks, spans = assembled(pages, headings, tables)
        metadata = metadata_of(reading.info) | {"page_count": len(pages)}
        if reading.scans.found:
            metadata |= {"ocr_engine": reading.scans.engine, "ocr_pages": reading.scans.found}
        return Extracted(
            text=text,
            blocks=blocks,
            pages=spans,
            title=cover.title if cover else title,
            metadata=metadata | ({"repeated_lines": removed} if removed else {}),
            warnings=tuple(_warnings(reading, blank)),
        )

    def _read(self, file: BinaryIO) -> Reading:
        with PDFIUM:
            try:
                document = pypdfium2.PdfDocument(mapped(file))
            except pypdfium2.PdfiumError as error:
                if PASSWORD.search(str(error)):
                    raise needs_password() from error
                return self._read_by_pypdf(file)
            with closing(document):
                return self._read_by_pdfium(document, file)

    def _read_by_pdfium(self, document: Any, file: BinaryIO) -> Reading:
        second = SecondReader(file)

        def lines_of(index: int) -> list[Line] | None:
            lines = _pdfium_lines(document, index)
            if lines and _is_right_to_left(lines):
                return second.lines(index) or lines
            return lines

        reading = Reading(info=_pdfium_info(document), entries=_pdfium_entries(document))
        reading = self._filled(reading, len(document), lines_of)
        if self.pictures:
            reading.scans = read_scans(document, reading.pages, self.pictures)
        return reading

    def _read_by_pypdf(self, file: BinaryIO) -> Reading:
        second = SecondReader(file)
        count = second.count()
        return self._filled(Reading(info=second.info()), count, second.lines)

    def _filled(
        self, reading: Reading, count: int, lines_of: Callable[[int], list[Line] | None]
    ) -> Reading:
        if count > self.max_pages:
            raise TooComplex(
                f"The PDF has {count} pages; at most {self.max_pages} are read. Please split it."
            )
        characters = 0
        for index in range(count):
            lines = lines_of(index)
            characters += sum(len(line.text) for line in lines or ())
            if characters > self.max_characters:
                raise TooComplex(
                    f"The PDF holds more than {self.max_characters} characters of text."
                    " Please split it."
                )
            reading.pages.append(None if lines is None else rows_together(merged(lines)))
        return reading


def mapped(file: BinaryIO) -> Any:
    """Return the input for PDFium; a real file is mapped, so it stays on disk until read."""
    try:
        mapped = mmap(file.fileno(), 0, access=ACCESS_COPY)
    except OSError:  # already in memory
        return file.read()
    return (c_char * len(mapped)).from_buffer(mapped)


def _pdfium_info(document: Any) -> dict[str, str]:
    try:
        return dict(document.get_metadata_dict(skip_empty=True))
    except Exception:  # as in SecondReader.info
        return {}


def _pdfium_entries(document: Any) -> list[OutlineEntry]:
    entries: list[OutlineEntry] = []
    try:
        for bookmark in islice(document.get_toc(max_depth=15), MAX_ENTRIES):
            target = bookmark.get_dest()
            page = target.get_index() if target else None
            title = tidy(clean(bookmark.get_title()[:MAX_VALUE_CHARACTERS]))
            if page is not None and 0 < len(title) <= MAX_TITLE_CHARACTERS:
                entries.append(OutlineEntry(page, bookmark.level + 1, title))
    except Exception:  # after a broken entry the rest of the outline is missing
        return entries
    return entries


def _pdfium_lines(document: Any, index: int) -> list[Line] | None:
    try:
        with closing(document[index]) as page, closing(page.get_textpage()) as textpage:
            return lines_of(textpage)
    except pypdfium2.PdfiumError:
        return None


def _is_right_to_left(lines: Sequence[Line]) -> bool:
    wide = [line.text for line in lines if not line.text.isascii()]
    found = sum(len(RIGHT_TO_LEFT.findall(text)) for text in wide)
    return found > 0 and found * 5 > sum(len(line.text) for line in lines)


def _own_lines(pages: Sequence[list[Line]]) -> tuple[list[list[Line]], list[str]]:
    """Return pages without running headers and footers, and examples of those."""
    own, dropped = without_furniture(pages)
    if not any(own):  # the same page repeated: its text is the content
        return list(pages), []
    removed = (line for of_page in dropped for line in of_page if not line.isdigit())
    return own, list(dict.fromkeys(removed))[:MAX_LISTED_PAGES]


def _nothing_read(reading: Reading) -> BadFile:
    count, scans = len(reading.pages), reading.scans
    if not count:
        return NoText("The PDF has no pages.")
    if all(page is None for page in reading.pages) and not scans.tried:
        return ParseError("The PDF is damaged: none of its pages can be read.")
    none = "The only page has no" if count == 1 else f"None of the {count} pages has a"
    return NoText(f"{none} text layer; {_tried(scans)}{_left(scans)}.")


def _tried(scans: Scans) -> str:
    return f"OCR ({scans.engine}) found nothing" if scans.engine else "OCR is switched off"


def _left(scans: Scans) -> str:
    return f", and {len(scans.unread)} were not read: {scans.stopped}" if scans.unread else ""


def _warnings(reading: Reading, blank: Sequence[int]) -> Iterator[str]:
    scans = reading.scans
    unread = set(scans.unread)
    broken = [number for number in blank if reading.pages[number - 1] is None]
    if broken := [number for number in broken if number not in {*scans.tried, *unread}]:
        yield f"{counted(broken)} could not be read."
    if bare := [number for number in blank if number not in {*broken, *unread}]:
        have = "has" if len(bare) == 1 else "have"
        yield f"{counted(bare)} {have} no text layer; {_tried(scans)}."
    if scans.unread:
        one = len(scans.unread) == 1
        have = "has no text layer and was" if one else "have no text layer and were"
        yield f"{counted(scans.unread)} {have} not read: {scans.stopped}."
