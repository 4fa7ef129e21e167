"""Find tables in a PDF's text layer: rows that end in figures, below column headers."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from documents.extractors.lines import Line
from documents.extractors.paged import Headings
from documents.extractors.pdf.body import Body
from documents.extractors.pdf.layout import LABEL
from documents.extractors.pdf.levels import is_company, keyword, names_section
from documents.extractors.pdf.rows import RowShape, heads_columns, row_of

MIN_ROWS = 3  # one less below a header of years or units
MAX_LABELS = 4  # lines without figures between two rows
MAX_HEAD_LINES = 10
MAX_HEAD_PIECES = 30  # of a header whose cells are stored one by one
MAX_LINES = 2000  # of a page; with more, displaced headers are not searched for
MAX_DISPLACED_HEAD = 40  # characters of a bold line that may be a displaced header
MAX_ROW_HEIGHTS = 3.2  # distance between rows, in line heights
MAX_ROW_STEPS = 2.3  # the same, in usual line spacings; allows a blank line
LABEL_SHARE = 0.75  # of the table's width; a wider label is a paragraph
MIN_CONTENTS = 4  # entries with increasing page numbers


class TableSpan(NamedTuple):
    """lines[start:end] of a page; the first `head` of them are column headers."""

    start: int
    end: int
    head: int


class TablesOnPage(NamedTuple):
    lines: list[Line]  # of the page, with pieces of a header side by side joined into one line
    tables: list[TableSpan]
    contents: list[TableSpan]  # tables of contents, which look similar

    @property
    def zone(self) -> set[int]:
        """The indexes of lines that cannot be headings."""
        parts = (*self.tables, *self.contents)
        return {number for part in parts for number in range(part.start, part.end)}


def tables_of(page: Sequence[Line], body: Body) -> TablesOnPage:
    lines = list(page)
    if not lines or lines[0].box:
        return TablesOnPage(lines, [], [])
    rows = [row_of(line, body) for line in lines]
    if sum(row.is_data for row in rows) < MIN_ROWS - 1:  # true for most pages
        return TablesOnPage(lines, [], [])
    lines, rows = _in_place(lines, rows)
    tables: list[TableSpan] = []
    contents: list[TableSpan] = []
    for first, end in _runs(lines, rows, body):
        done = max((table.end for table in (*tables, *contents)), default=0)
        start, body_start = _head(lines, rows, first, done)
        table = TableSpan(start, end, body_start - start)
        data = [row for row in rows[body_start:end] if row.is_data]
        if _is_contents(data):
            contents.append(table)
        elif _is_table(data, has_head=table.head > 0):
            tables.append(table)
    return _with_whole_heads(lines, tables, contents)


def _in_place(lines: list[Line], rows: list[RowShape]) -> tuple[list[Line], list[RowShape]]:
    """Move column headers that are stored after their table back above it."""
    order = list(range(len(lines)))
    if len(lines) > MAX_LINES:
        return lines, rows
    for number in range(1, len(lines)):
        line = lines[number]
        goes_up = line.bottom > lines[number - 1].bottom + line.height
        if (not goes_up and order[number - 1] == number - 1) or not _could_head(line, rows[number]):
            continue
        below = next((one for one in range(number) if _is_over(line, lines[one], rows[one])), None)
        if below is not None:
            order.remove(number)
            order.insert(order.index(below), number)
    return [lines[one] for one in order], [rows[one] for one in order]


def _could_head(line: Line, row: RowShape) -> bool:
    return heads_columns(line, row) or (line.bold and len(line.text) < MAX_DISPLACED_HEAD)


def _is_over(line: Line, other: Line, row: RowShape) -> bool:
    """Whether a row starts closely below the line, and to its left."""
    step = line.bottom - other.bottom
    return (
        row.is_data
        and 0.5 * line.height < step < MAX_HEAD_LINES * line.height
        and other.left < line.left
        and line.right < other.right + line.height
    )


def _runs(lines: Sequence[Line], rows: Sequence[RowShape], body: Body) -> Iterator[tuple[int, int]]:
    """Yield the start and end of sequences of rows that follow each other closely."""
    number = 0
    while number < len(rows):
        if not rows[number].is_data:
            number += 1
            continue
        end = _run_end(lines, rows, number, body.pitch)
        yield number, end
        number = end


def _run_end(lines: Sequence[Line], rows: Sequence[RowShape], first: int, pitch: float) -> int:
    end = first + 1
    left, right = lines[first].left, lines[first].right
    for number in range(first + 1, len(lines)):
        line, row = lines[number], rows[number]
        if number - end > MAX_LABELS or not _is_below(lines[number - 1], line, pitch):
            break
        if row.is_data or (row.cells and abs(line.right - right) < line.height):
            end = number + 1
            left, right = min(left, line.left), max(right, line.right)
        elif heads_columns(line, row) or keyword(line.text):
            break  # belongs to another table
        elif line.right - left > LABEL_SHARE * (right - left) and not row.is_sparse:
            break
    return end


def _is_below(above: Line, line: Line, pitch: float) -> bool:
    step = above.bottom - line.bottom
    reach = max(MAX_ROW_HEIGHTS * max(above.height, line.height), MAX_ROW_STEPS * pitch)
    return -0.5 * line.height < step < reach


def _head(
    lines: Sequence[Line], rows: Sequence[RowShape], first: int, done: int
) -> tuple[int, int]:
    """Return the start and end of the header; labels may follow it."""
    start = last = first
    right = max(line.right for line in lines[first : first + MIN_ROWS])
    left = min(line.left for line in lines[first : first + MIN_ROWS])
    label_end = left + LABEL_SHARE * (right - left)
    for number in range(first - 1, max(done, first - MAX_HEAD_PIECES) - 1, -1):
        line = lines[number]
        heads = heads_columns(line, rows[number])
        # Pieces of a header may be stored in any order.
        near = min(abs(line.bottom - other.bottom) for other in lines[number + 1 : first + 1])
        reach = MAX_ROW_HEIGHTS * line.height * (1 + heads)
        if near > reach or names_section(line.text):
            break
        if line.bottom - lines[first].bottom > MAX_HEAD_LINES * line.height:
            break
        if heads or line.left > left + (right - left) / 5:
            last = last if start < first else number + 1
            start = number
        elif start < first and is_company(line.text):
            start = number
        elif start < first or first - number > MAX_LABELS or line.right > label_end:
            break
    return start, last


def _is_table(data: Sequence[RowShape], *, has_head: bool) -> bool:
    if len(data) < MIN_ROWS - has_head:
        return False
    sparse = sum(row.is_sparse for row in data)
    labelled = sum(bool(LABEL.search(row.label)) for row in data)
    several = sum(row.cells > 1 for row in data)
    if sparse * 2 < len(data):
        return False
    amounts = sum(row.has_amount for row in data)
    if labelled * 2 < len(data):  # a grid of figures, or of years or very short labels
        alike = len({row.cells for row in data}) == 1 and not any(row.label for row in data)
        return several > MIN_ROWS and (alike or amounts * 2 >= len(data))
    if several * 2 >= len(data):
        return True
    return amounts * 3 >= len(data) * (1 if has_head else 2)


def _is_contents(data: Sequence[RowShape]) -> bool:
    """Whether the last figures are page numbers: integers in increasing order."""
    if len(data) < MIN_CONTENTS or any(row.has_amount for row in data):
        return False
    if not all(row.last.isdigit() and row.label for row in data):
        return False
    pages = [int(row.last) for row in data]
    rising = sum(one <= other for one, other in itertools.pairwise(pages))
    return rising == len(pages) - 1 and pages[0] < pages[-1] and max(pages) < 2000


def _with_whole_heads(
    lines: list[Line], tables: Sequence[TableSpan], contents: Sequence[TableSpan]
) -> TablesOnPage:
    whole: list[Line] = []
    moved: list[TableSpan] = []
    done = 0
    shifts: list[tuple[int, int]] = []  # from which line on, and by how much lines moved up
    for start, end, head in tables:
        whole += lines[done:start]
        own = _by_baseline(lines[start : start + head])
        moved.append(TableSpan(len(whole), len(whole) + len(own) + end - start - head, len(own)))
        whole += own
        done = start + head
        shifts.append((done, done - len(whole)))
    whole += lines[done:]

    def shifted(table: TableSpan) -> TableSpan:
        by = max((by for place, by in shifts if place <= table.start), default=0)
        return TableSpan(table.start - by, table.end - by, table.head)

    return TablesOnPage(whole, moved, [shifted(table) for table in contents])


def _by_baseline(lines: Sequence[Line]) -> list[Line]:
    """Sort pieces by row and then from the left: header cells are often stored one by one."""
    rows: list[list[Line]] = []
    for line in sorted(lines, key=lambda line: -line.bottom):
        if rows and rows[-1][0].bottom - line.bottom < 0.4 * line.height:
            rows[-1].append(line)
        else:
            rows.append([line])
    return [_joined(sorted(row, key=lambda line: line.left)) for row in rows]


def _joined(row: Sequence[Line]) -> Line:
    if len(row) == 1:
        return row[0]
    return row[0]._replace(
        text=" ".join(line.text for line in row),
        right=max(line.right for line in row),
        bold=all(line.bold for line in row),
    )


def outside(tables: Mapping[int, Sequence[TableSpan]], headings: Headings) -> Headings:
    """Return the headings outside of tables: an outline may name a line inside one."""
    return {
        index: [
            heading
            for heading in own
            if all(
                heading.end <= table.start or table.end <= heading.start
                for table in tables.get(index, ())
            )
        ]
        for index, own in headings.items()
    }
