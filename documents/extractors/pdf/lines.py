"""Read the lines of a PDF page from PDFium: their text and positions.

A book has tens of thousands of lines, so the work for each line takes as few calls as possible.
"""

import re
import sys
from bisect import bisect_left
from collections.abc import Callable, Iterator
from ctypes import PYFUNCTYPE, addressof, c_char, c_float, c_int, c_ulong, c_void_p, cast
from functools import cache
from typing import Any

from pypdfium2 import raw

from documents.extractors.cleaning import SURROGATES, clean
from documents.extractors.lines import LINE_HYPHEN, Line, boxed, tidy
from documents.extractors.pdf.fonts import FORCE_BOLD, style_of
from documents.extractors.pdf.layout import by_columns, crosses, gutter, middle
from documents.text.boundaries import Span

PageBox = tuple[float, float, float, float]  # left, right, bottom, top

MAX_FONT_NAME = 128  # bytes
MAX_COORDINATE = 20_000.0  # points; a page has at most 14,400 per side
LINE_END = "\r\n"
PIECE = re.compile(f"[^\r\n{LINE_HYPHEN}]+{LINE_HYPHEN}?")
# Characters that remain after cleaning a line.
VISIBLE = re.compile("[^\\s\x00-\x1f\x7f\ufeff\ufffe\uffff]")


def lines_of(textpage: Any) -> list[Line]:
    """Return lines as stored, or column by column if columns were stored row by row."""
    text = indexed_text(textpage)
    places = Places(textpage)
    line_of = places.line
    pieces = list(_pieces(text))
    lines = [line_of(*piece) for piece in pieces]
    if not lines or not crosses(lines, middle(lines)):
        return lines
    # A line of several pieces may be two columns read as one.
    count = textpage.count_rects()
    if count < 1.5 * len(lines):
        return lines
    rects = [textpage.get_rect(number) for number in range(count)]
    x = gutter(lines, [(_bounded(rect[0]), _bounded(rect[2])) for rect in rects])
    if x is None:
        return lines
    rows = [
        _cut_at(x, text, (start, end), line, places)
        for (start, end, _), line in zip(pieces, lines, strict=True)
    ]
    return by_columns(rows, x) or lines


def indexed_text(textpage: Any) -> str:
    """Return the page's text, in which a character's index is also its index for PDFium."""
    text: str = textpage.get_text_range()
    count = textpage.count_chars()
    if len(text) == count:
        return text
    codes = (raw.FPDFText_GetUnicode(textpage, number) for number in range(count))
    return "".join(LINE_HYPHEN if code == 2 else chr(min(code, sys.maxunicode)) for code in codes)


def _pieces(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield the start, end and clean text of each line, without surrounding white space.

    PDFium's hyphen character ends a line, too, and stays part of it.
    """
    end = -len(LINE_END)
    for piece in text.split(LINE_END):
        start = end + len(LINE_END)
        end = start + len(piece)
        if piece.isascii() and piece.isprintable() and piece == piece.strip():  # nearly all lines
            if piece:
                yield start, end, piece if "  " not in piece else tidy(piece)
            continue
        for part in PIECE.finditer(text, start, end):
            if VISIBLE.search(text, *part.span()):
                words = part[0].rstrip()
                stop = part.start() + len(words)
                words = words.lstrip()
                yield stop - len(words), stop, _tidied(words)


def _tidied(words: str) -> str:
    if SURROGATES.search(words):  # PDFium may return the halves of a surrogate pair separately
        words = words.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return tidy(clean(words))


@cache
def _reader() -> Callable[[int, int, int], object]:
    """Return PDFium's function with untyped pointers, because checking their types takes time."""
    address = cast(raw.FPDFText_GetLooseCharBox, c_void_p).value
    # PYFUNCTYPE keeps the GIL, which is faster for a call this short.
    return PYFUNCTYPE(c_int, c_void_p, c_int, c_void_p)(address or 0)


@cache
def _font_reader() -> Callable[[int, int, int, int, int], int]:
    """Return the function that reads a character's font name and flags; see `_reader`."""
    address = cast(raw.FPDFText_GetFontInfo, c_void_p).value
    return PYFUNCTYPE(c_ulong, c_void_p, c_int, c_void_p, c_ulong, c_void_p)(address or 0)


class Places:
    """The positions of characters: left, right, bottom and top."""

    def __init__(self, textpage: Any) -> None:
        self.read = _reader()
        self.handle = cast(textpage.raw, c_void_p).value or 0
        self.values = (c_float * 4)()  # FS_RECTF, read as one array
        self.address = addressof(self.values)
        self.read_font = _font_reader()
        self.font_name = (c_char * MAX_FONT_NAME)()
        self.font_flags = c_int()
        self.font_addresses = addressof(self.font_name), addressof(self.font_flags)

    def style(self, number: int) -> tuple[bool, bool]:
        """Whether a character is bold, and whether it is italic."""
        name, flags = self.font_addresses
        length = self.read_font(self.handle, number, name, MAX_FONT_NAME, flags)
        if not 0 < length <= MAX_FONT_NAME:  # PDFium writes nothing if it does not fit
            return False, False
        return style_of(self.font_name.value, bool(self.font_flags.value & FORCE_BOLD))

    def box(self, number: int) -> PageBox:
        self.read(self.handle, number, self.address)
        left, top, right, bottom = self.values[:]
        return _bounded(left), _bounded(right), _bounded(bottom), _bounded(top)

    def line(self, start: int, end: int, words: str) -> Line:
        """Return the box from the first character to the last, as high as the taller one."""
        read, handle, address, values = self.read, self.handle, self.address, self.values
        read(handle, start, address)
        left, top, right, bottom = values[:]
        read(handle, end - 1, address)
        left2, top2, right2, bottom2 = values[:]
        if top2 - bottom2 > top - bottom:  # the first may be a footnote mark
            bottom, top = bottom2, top2
        left = left if left < left2 else left2
        right = right if right > right2 else right2
        bold, italic = self.style(start)
        if bold or italic:  # few lines start like this
            last = self.style(end - 1)
            bold, italic = bold and last[0], italic and last[1]
        if (
            -MAX_COORDINATE < left <= right < MAX_COORDINATE
            and -MAX_COORDINATE < bottom <= top < MAX_COORDINATE
        ):
            return boxed(words, left, right, bottom, top, bold, italic)
        left, right, bottom, top = map(_bounded, (left, right, bottom, top))
        return boxed(words, left, right, bottom, top, bold, italic)


def _bounded(place: float) -> float:
    """Limit a coordinate: files may contain infinity or NaN (of which max returns its first)."""
    return min(MAX_COORDINATE, max(-MAX_COORDINATE, place))


def _cut_at(x: float, text: str, span: Span, line: Line, places: Places) -> tuple[Line, ...]:
    """Return the line, or its two halves if it has white space at the gutter."""
    start, end = span
    cut = bisect_left(range(start, end), x, key=lambda number: places.box(number)[1]) + start
    head, tail = text[start:cut].rstrip(), text[cut:end].lstrip()
    if not (VISIBLE.search(head) and VISIBLE.search(tail)):
        return (line,)
    if places.box(end - len(tail))[0] < x:
        return (line,)
    return (
        places.line(start, start + len(head), _tidied(head)),
        places.line(end - len(tail), end, _tidied(tail)),
    )
