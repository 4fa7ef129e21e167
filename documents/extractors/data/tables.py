"""Write rows as Markdown tables with repeated headers; common parts of the Office readers."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any, BinaryIO, NamedTuple

from documents.errors import BadFile, EmptyFile, Encrypted, ParseError, TooComplex, XmlForbidden
from documents.extractors.archives import XML, check_zip, read_member, without_media
from documents.extractors.base import size_of
from documents.extractors.cleaning import clean
from documents.extractors.writer import MAX_TITLE_CHARACTERS, TextWriter

GROUP_CHARACTERS = 700
SUMMARY_CHARACTERS = 300  # characters of column names in a summary, for very wide tables
MAX_CAPTIONS = 5
BLOCK = 1024 * 1024
NUMBER = re.compile(r"[-+(]?[$€£]?\s?[\d.,:/\- ]*\d[\d.,:/\- ]*(?:[eE][-+]?\d+)?\s?[%€)]?")

OLE2 = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
# Entities are declared in it, and no Office program writes one. Also found in UTF-16.
DOCTYPES = tuple("<!DOCTYPE".encode(code) for code in ("utf-8", "utf-16-le", "utf-16-be"))
LEGACY_STREAMS = tuple(
    name.encode("utf-16-le") for name in ("WordDocument", "PowerPoint Document", "Workbook")
)


class Table(NamedTuple):
    header: list[str]
    rows: list[list[str]]
    caption: tuple[str, ...] = ()  # lines above the header


def write_table(
    writer: TextWriter,
    table: Table,
    *,
    size: int = GROUP_CHARACTERS,
    numbers: Sequence[int] | None = None,
    attributes: Mapping[str, Any] | None = None,
) -> None:
    """Write blocks of as many rows as fit `size`. `numbers` are the rows' own; default: 1, 2, …"""
    head = f"{_line(table.header)}\n{'|' + ' --- |' * len(table.header)}"
    if not table.rows:
        writer.add("table", head, attributes=attributes)
        return
    size = max(size, 2 * len(head))  # a repeated header must not be longer than its rows
    lines: list[str] = []
    length = first = 0
    for index, row in enumerate(table.rows):
        line = _line(row)
        if lines and len(head) + length + len(line) + 1 > size:
            _write_group(writer, head, lines, _place(first, index - 1, numbers), attributes)
            lines, length, first = [], 0, index
        lines.append(line)
        length += len(line) + 1
    last = len(table.rows) - 1
    _write_group(writer, head, lines, _place(first, last, numbers), attributes)


def write_rows(writer: TextWriter, rows: list[list[str]], *, max_cells: int) -> None:
    """Write a table inside a document: its rows, and the lines above its header as text."""
    filled = [row for row in rows if any(map(str.strip, row))]
    if not filled:
        return
    table = as_table(filled, max_cells=max_cells)
    for line in table.caption:
        writer.add("text", line)
    write_table(writer, table)


def _write_group(
    writer: TextWriter,
    head: str,
    lines: list[str],
    place: dict[str, list[int]],
    attributes: Mapping[str, Any] | None,
) -> None:
    text = "\n".join([head, *lines])
    writer.add("table", text, attributes={**(attributes or {}), **place})


def _place(first: int, last: int, numbers: Sequence[int] | None) -> dict[str, list[int]]:
    """Return the rows' numbers, as a list only if there are blank rows between them."""
    if not numbers:
        return {"rows": [first + 1, last + 1]}
    rows = [numbers[first], numbers[last]]
    if rows[1] - rows[0] == last - first:
        return {"rows": rows}
    return {"rows": rows, "row_numbers": list(numbers[first : last + 1])}


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(map(cell_text, cells)) + " |"


def cells_of(line: str) -> tuple[str, ...]:
    """Split a line written by `_line` into cells: inside a cell no bar follows a space."""
    return tuple(cell.strip().replace("\\|", "|") for cell in line[2:-2].split(" | "))


def cell_text(cell: str) -> str:
    """Put a cell on one line, so that a phrase with a line break in it is still found."""
    return " ".join(cell.split()).replace("|", "\\|")


def summary(table: Table) -> str:
    names: list[str] = []
    length = 0
    for name in map(cell_text, table.header):
        length += len(name) + 2
        if length > SUMMARY_CHARACTERS:
            break
        names.append(name or "unnamed")
    if missing := len(table.header) - len(names):
        names.append(f"{missing} more" if names else "with long names")
    columns, rows = len(table.header), len(table.rows)
    captions = "".join(f"{line.rstrip('.:')}. " for line in map(cell_text, table.caption))
    return (
        f"{captions}Table with {columns} column{'s'[: columns != 1]} ({', '.join(names)}) "
        f"and {rows or 'no'} row{'s'[: rows != 1]}."
    )


def as_table(rows: list[list[str]], *, max_cells: int) -> Table:
    """Return rows of one width, apart from the header and the lines above it, if there are any."""
    width = max(map(_filled_width, rows), default=0)
    if width * len(rows) > max_cells:
        raise TooComplex(f"The table is too large to be read: {width} columns, {len(rows)} rows.")
    skip = _caption_lines(rows)
    caption = tuple(row[0].strip() for row in rows[:skip])
    padded = [row[:width] + [""] * (width - len(row)) for row in rows[skip:]]
    if not padded or all(map(is_number, padded[0])):
        return Table([f"column {number}" for number in range(1, width + 1)], padded, caption)
    # The extra cells of a row longer than the header need a name as well.
    named = min(len(rows[skip]), width)
    header = [*padded[0][:named], *(f"column {number}" for number in range(named + 1, width + 1))]
    if _has_second_line(padded):
        both = [" ".join(filter(None, names)) for names in zip(header, padded[1], strict=True)]
        return Table(both, padded[2:], caption)
    return Table(header, padded[1:], caption)


def _has_second_line(rows: list[list[str]]) -> bool:
    """Whether this is a header over merged cells: words in the row below fill all its gaps."""
    gaps = [column for column, name in enumerate(rows[0]) if not name.strip()]
    if gaps in ([], [0]) or len(rows) < 3:  # a nameless first column is an index
        return False
    filled = all(rows[1][column].strip() for column in gaps if column)
    words = not any(map(is_number, rows[1]))
    return filled and words and any(map(is_number, rows[2]))


def _filled_width(row: list[str]) -> int:
    return next((n for n in range(len(row), 0, -1) if row[n - 1].strip()), 0)


def _caption_lines(rows: list[list[str]]) -> int:
    """Return the number of single-cell rows above a row that is clearly a header."""
    for index, row in enumerate(rows[: MAX_CAPTIONS + 1]):
        if (width := _filled_width(row)) > 1:
            named = sum(bool(name.strip()) for name in row)
            plain = named * 5 >= width * 3 and not any(map(is_number, row))
            return index if plain and (named == width or width > 2) else 0
    return 0


def is_number(cell: str) -> bool:
    """Whether this is a number, amount, date or time, as in data rows but not in headers."""
    return bool(NUMBER.fullmatch(cell.strip()[:64]))


def check_office(file: BinaryIO, what: str) -> Iterator[tuple[str, bytes]]:
    """Refuse empty, protected and old files, decompression bombs, and XML with a document type.

    Yields the XML members' names and contents for closer checks; it must be run to its end.
    """
    if not size_of(file):
        raise EmptyFile("The file is empty: it has no bytes at all.")
    head = file.read(8)
    if head.startswith(OLE2[:4]):
        if holds_any(file, LEGACY_STREAMS):
            raise ParseError(f"The {what} is in the old binary format; save it in the new one.")
        raise Encrypted(f"The {what} is protected by a password.")
    if not head.startswith(b"PK"):
        raise ParseError(f"The file is not a {what}.")
    archive = check_zip(file)
    for member in archive.namelist():
        if member.lower().endswith(XML):
            content = read_member(archive, member)
            if any(mark in content for mark in DOCTYPES):
                raise XmlForbidden(f"The {what} holds XML with a document type of its own.")
            yield member, content


def open_office(file: BinaryIO, what: str) -> BinaryIO:
    """Return the file to open, after all checks: without large pictures, because the libraries load
    every part of a file."""
    for _ in check_office(file, what):
        pass
    return without_media(file)


def holds_any(file: BinaryIO, names: Sequence[bytes]) -> bool:
    file.seek(0)
    tail = b""
    while block := file.read(BLOCK):
        if any(name in tail + block for name in names):
            return True
        tail = block[-max(map(len, names)) :]  # the name may cross the border of two blocks
    return False


@contextmanager
def reading(what: str) -> Iterator[None]:
    """Turn any error of a library into a BadFile with a message and a stable code."""
    try:
        yield
    except (BadFile, MemoryError):
        raise
    except RecursionError as error:
        raise TooComplex(f"The {what} is nested too deeply to be read.") from error
    except Exception as error:
        raise ParseError(f"The {what} is damaged and cannot be read.") from error
    except BaseException as error:
        if type(error).__name__ == "PanicException":  # how Rust libraries crash
            raise ParseError(f"The {what} is damaged and cannot be read.") from error
        raise


# Default titles that programs write.
NO_TITLES = frozenset(
    {"word document", "powerpoint presentation", "presentation", "document", "slide 1"}
)


def office_title(document: Any) -> str:
    title = " ".join(_property(document, "title").split())
    return "" if title.lower() in NO_TITLES or len(title) > MAX_TITLE_CHARACTERS else title


def office_metadata(document: Any) -> dict[str, str]:
    names = ("author", "created")
    return {name: found for name in names if (found := _property(document, name))}


def _property(document: Any, name: str) -> str:
    try:
        found = getattr(document.core_properties, name)
    except Exception:  # the text is readable in spite of damaged properties
        return ""
    return clean(found.isoformat() if isinstance(found, datetime) else str(found or "")).strip()
