"""Turn tables into facts: each cell of a row states something about the row's subject."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from documents.extractors.data.tables import cells_of
from documents.passages import MAX_FACT_NAME, Block, Extracted, RowFact

from .row_statements import StatementColumns, UnreadableRow, row_statement, statement_columns

MAX_PLACE_CHARACTERS = 450  # before "row N"
KEY_COLUMNS = 10  # only the first columns can be the key


@dataclass(frozen=True, slots=True)
class TableRow:
    number: int  # as the spreadsheet shows it, or from 1
    start: int
    end: int
    cells: tuple[str, ...]


def row_facts(
    extracted: Extracted, *, title: str, unread: list[int] | None = None
) -> Iterator[RowFact]:
    """Yield the facts in row order.

    Only for files that are tables as a whole: every table block is a header, a rule and rows, as
    written by `write_table`. Numbers of rows whose statements cannot be read are added to `unread`.
    """
    tables = groupby(extracted.blocks, key=lambda block: _header(extracted.text, block))
    for header, blocks in tables:
        if header:
            table = list(blocks)
            columns = statement_columns(cells_of(header))
            if columns is None:
                yield from _facts_of(extracted.text, header, table, title)
            else:
                yield from _statements_of(extracted.text, columns, table, unread)


def _header(text: str, block: Block) -> str:
    """Return a table block's header line. Long tables have several blocks with the same header."""
    return text[block.start : block.end].partition("\n")[0] if block.kind == "table" else ""


def _facts_of(text: str, header: str, table: Sequence[Block], title: str) -> Iterator[RowFact]:
    names = [
        name[:MAX_FACT_NAME] or f"column {number}"
        for number, name in enumerate(cells_of(header), start=1)
    ]
    key = _key_column(text, table, columns=len(names))
    sheet = table[0].attributes.get("sheet", "")
    place = (f"{title} > {sheet}" if sheet else title)[:MAX_PLACE_CHARACTERS]
    for row in _rows(text, table):
        subject = f"{place} row {row.number}" if key is None else row.cells[key]
        for column, (name, cell) in enumerate(zip(names, row.cells, strict=True)):
            if cell and column != key:
                yield RowFact(subject, name, cell, row.start, row.end)


def _statements_of(
    text: str, columns: StatementColumns, table: Sequence[Block], unread: list[int] | None
) -> Iterator[RowFact]:
    for row in _rows(text, table):
        try:
            stated = row_statement(columns, row.cells, start=row.start, end=row.end)
        except UnreadableRow:
            if unread is not None:
                unread.append(row.number)
            continue
        if stated is not None:
            yield stated


def _key_column(text: str, table: Sequence[Block], *, columns: int) -> int | None:
    """Return the first column whose values identify the rows: never empty, never repeated."""
    if columns < 2:  # otherwise there would be no other column to make facts of
        return None
    # Rereads the rows for each column, but mostly the first one is the key.
    candidates = range(min(columns, KEY_COLUMNS))
    return next((column for column in candidates if _is_key(text, table, column)), None)


def _is_key(text: str, table: Sequence[Block], column: int) -> bool:
    seen: set[str] = set()
    for row in _rows(text, table):
        value = row.cells[column]
        if not value or len(value) > MAX_FACT_NAME or value in seen:
            return False
        seen.add(value)
    return bool(seen)


def _rows(text: str, table: Sequence[Block]) -> Iterator[TableRow]:
    for block in table:
        lines = text[block.start : block.end].split("\n")
        start = block.start + len(lines[0]) + 1 + len(lines[1]) + 1
        for number, line in zip(_numbers(block), lines[2:], strict=True):
            yield TableRow(number, start, start + len(line), cells_of(line))
            start += len(line) + 1


def _numbers(block: Block) -> Sequence[int]:
    if exact := block.attributes.get("row_numbers"):
        return list(exact)
    first, last = block.attributes.get("rows", (1, 0))  # a table with only a header has none
    return range(first, last + 1)
