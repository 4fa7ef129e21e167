"""XLSX and XLS: a heading and tables per sheet; rows keep the numbers that Excel shows."""

import re
from collections.abc import Iterator, Sequence
from datetime import date, datetime, time, timedelta
from typing import Any, BinaryIO, NamedTuple

from python_calamine import CalamineWorkbook, PasswordError, SheetTypeEnum

from documents.errors import EmptyFile, Encrypted, NoText, TooComplex
from documents.extractors.base import FileExtractor, size_of
from documents.extractors.data.tables import (
    GROUP_CHARACTERS,
    OLE2,
    Table,
    as_table,
    check_office,
    holds_any,
    is_number,
    reading,
    summary,
    write_table,
)
from documents.extractors.writer import TextWriter
from documents.passages import Extracted

WHAT = "spreadsheet"
MAX_CELLS = 200_000  # with a value, in the whole workbook
MAX_AREA = 4_000_000  # of a sheet: the library allocates memory for empty cells, too
ENCRYPTED_STREAM = "EncryptedPackage".encode("utf-16-le")
# A cell with content: its column and row. Empty cells with a style are self-closing elements.
CELL = re.compile(
    rb"<(?:\w{1,20}:)?c\s(?:[^<>]{0,200}?\s)?"
    rb"r=[\"']([A-Za-z]{1,200})(\d{1,20})[\"'][^<>]{0,500}(?<!/)>"
)
# A declared count of tens of millions of strings or styles: the library allocates memory for all
# of them, which kills the process.
BOAST = re.compile(rb"<[^<>]{0,300}[cC]ount\s*=\s*[\"']\d{8,}")


class SpreadsheetExtractor(FileExtractor):
    def __init__(
        self, group_characters: int = GROUP_CHARACTERS, max_cells: int = MAX_CELLS
    ) -> None:
        self.group_characters = group_characters
        self.max_cells = max_cells

    def extract_file(self, file: BinaryIO, *, name: str = "") -> Extracted:
        _check(file)
        writer = TextWriter()
        cells = 0
        for sheet, rows in _sheets(file):
            cells += sum(1 for row in rows for cell in row.cells if cell)
            if cells > self.max_cells:
                raise TooComplex(f"The spreadsheet has more than {self.max_cells} cells.")
            if rows:
                self._write_sheet(writer, sheet, rows)
        if not writer.blocks:
            raise NoText("The spreadsheet holds no text: all its cells are empty.")
        return Extracted(text=writer.text, blocks=tuple(writer.blocks))

    def _write_sheet(self, writer: TextWriter, sheet: str, rows: "list[SheetRow]") -> None:
        at = {"sheet": sheet}
        writer.add_heading(sheet, level=1, attributes=at)
        for part in _parts(rows):
            if isinstance(part, SheetRow):  # a single line
                line = " ".join(filter(None, part.cells))
                writer.add("text", line, attributes={**at, "rows": [part.number, part.number]})
                continue
            span = [part.numbers[0], part.numbers[-1]] if part.numbers else []
            attributes = {**at, "rows": span} if span else at
            writer.add("text", summary(part.table), attributes=attributes)
            write_table(
                writer,
                part.table,
                size=self.group_characters,
                numbers=part.numbers,
                attributes=at,
            )


class SheetRow(NamedTuple):
    number: int  # as the program shows it
    cells: list[str]


class Part(NamedTuple):
    """A table of a sheet, which may contain several, separated by blank rows."""

    table: Table
    numbers: list[int]  # of the data rows


def _check(file: BinaryIO) -> None:
    if not size_of(file):
        raise EmptyFile("The file is empty: it has no bytes at all.")
    if file.read(len(OLE2)) == OLE2:  # an old .xls, or a protected .xlsx
        if holds_any(file, (ENCRYPTED_STREAM,)):
            raise Encrypted("The spreadsheet is protected by a password.")
        return
    for _, content in check_office(file, WHAT):
        if BOAST.search(content):
            raise TooComplex("The spreadsheet announces more entries than can be read.")
        if _area(content) > MAX_AREA:
            raise TooComplex("A sheet's cells lie too far apart to be read.")


def _area(content: bytes) -> int:
    """Return the size of the rectangle around all cells of a sheet."""
    columns: set[bytes] = set()
    top, bottom = 1 << 30, 0
    for found in CELL.finditer(content):
        columns.add(found[1].upper())
        row = int(found[2])
        top, bottom = min(top, row), max(bottom, row)
    if not columns:
        return 0
    numbers = [_column_number(name) for name in columns]
    return (bottom - top + 1) * (max(numbers) - min(numbers) + 1)


def _column_number(name: bytes) -> int:
    number = 0
    for letter in name:
        number = number * 26 + letter - 64
    return number


def _sheets(file: BinaryIO) -> Iterator[tuple[str, list[SheetRow]]]:
    file.seek(0)
    with reading(WHAT):
        try:
            workbook = CalamineWorkbook.from_filelike(file)
        except PasswordError as error:
            raise Encrypted("The spreadsheet is protected by a password.") from error
        for about in workbook.sheets_metadata:
            if about.typ != SheetTypeEnum.WorkSheet:
                continue  # a chart or a macro
            name = about.name
            sheet = workbook.get_sheet_by_name(name)
            first = (sheet.start or (0, 0))[0] + 1
            yield name, _rows(sheet.to_python(skip_empty_area=True), first)


def _rows(values: Sequence[Sequence[Any]], first: int) -> list[SheetRow]:
    """Return the rows that are not empty, without empty columns."""
    rows = [SheetRow(first + index, list(map(shown, row))) for index, row in enumerate(values)]
    rows = [row for row in rows if any(row.cells)]
    used = {column for row in rows for column, cell in enumerate(row.cells) if cell}
    keep = sorted(used)
    return [SheetRow(row.number, [row.cells[column] for column in keep]) for row in rows]


def shown(value: Any) -> str:
    """Format a cell as a person would: ISO dates, 3 for 3.0, 0.3 for 0.30000000000000004."""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else f"{value:.15g}"
    if isinstance(value, datetime):
        return (value.date() if value.time() == time() else value).isoformat()
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, timedelta):
        return str(value)
    return str(value).strip()


def _parts(rows: list[SheetRow]) -> Iterator[SheetRow | Part]:
    """Split rows into tables at blank rows, unless more data for the same header follows."""
    table: list[SheetRow] = []
    for row in rows:
        apart = bool(table) and row.number > table[-1].number + 1
        if apart and not _continues(row, table):
            yield from _part(table)
            table = []
        table.append(row)
    yield from _part(table)


def _continues(row: SheetRow, table: list[SheetRow]) -> bool:
    """Whether this is a header: at least two words and no number."""
    return len(table) > 1 and any(cell and is_number(cell) for cell in row.cells)


def _part(rows: list[SheetRow]) -> Iterator[SheetRow | Part]:
    if not rows:
        return
    # Rows of one cell above or between tables are titles and remarks.
    if all(sum(map(bool, row.cells)) == 1 for row in rows) and (
        len(rows) == 1 or len(rows[0].cells) > 1
    ):
        yield from rows
        return
    used = [n for n in range(len(rows[0].cells)) if any(row.cells[n] for row in rows)]
    cells = [[row.cells[n] for n in used] for row in rows]
    table = as_table(cells, max_cells=MAX_AREA)
    yield Part(table, [row.number for row in rows[len(rows) - len(table.rows) :]])
