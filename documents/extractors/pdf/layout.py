"""Put PDF pages into reading order: columns and tables that are stored in another order."""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from math import ceil, floor
from statistics import median

from documents.extractors.lines import CELL, Line, boxed, is_cell, is_row, tidy

MIN_ROWS = 6  # fewer are not a column of text
MIN_LABELS = 3  # fewer are not a table
LABEL = re.compile(r"[^\W\d_]{3}")  # three letters in a row, which formulas hardly contain


def plain_lines(text: str) -> list[Line]:
    """Give lines without positions those of typewritten text."""
    rows = enumerate(map(tidy, text.split("\n")))
    return [boxed(row, 0, len(row), -number, 1 - number) for number, row in rows if row]


def gutter(lines: Sequence[Line], runs: Sequence[tuple[float, float]]) -> float | None:
    """Return where to cut lines that PDFium read across two columns stored row by row.

    `runs` are the left and right ends of pieces written at once; none may cross the gutter.
    """
    reach = 0.3 * (middle(lines) - min(line.left for line in lines))
    first, last = int(middle(lines) - reach), int(middle(lines) + reach)
    allowed = max(2, len(runs) // 20)  # a title across both columns
    opened = Counter(max(first, floor(start) + 1) for start, end in runs if end > first)
    closed = Counter(ceil(end) for _, end in runs)
    stretch = widest = range(first, first)
    crossing = 0
    for x in range(first, last):
        crossing += opened[x] - (closed[x] if x > first else 0)
        stretch = range(stretch.start, x + 1) if crossing <= allowed else range(x + 1, x + 1)
        widest = max(widest, stretch, key=len)
    if len(widest) < 0.5 * median(line.height for line in lines):
        return None
    x = widest[len(widest) // 2]
    return float(x) if crosses(lines, x) else None


def middle(lines: Sequence[Line]) -> float:
    return (min(line.left for line in lines) + max(line.right for line in lines)) / 2


def crosses(lines: Sequence[Line], x: float) -> bool:
    """Whether most lines cross this position."""
    across = sum(line.left < x < line.right for line in lines)
    return across >= MIN_ROWS and across * 2 >= len(lines)


def by_columns(rows: Sequence[tuple[Line, ...]], x: float) -> list[Line] | None:
    """Read rows cut at the gutter column by column; None if they are rows of a table."""
    pairs = [row for row in rows if len(row) == 2]
    starts = sorted(right.left for _, right in pairs)
    if len(pairs) < MIN_ROWS or any(
        median(len(row[side].text) for row in pairs) < CELL for side in (0, 1)
    ):
        return None
    usual = median(starts)
    aligned = sum(abs(start - usual) < 4 for start in starts)
    figures = sum(is_row(line.text) for row in pairs for line in row)
    if aligned * 4 < len(pairs) * 3 or figures * 2 > len(pairs):
        return None
    ordered: list[Line] = []
    later: list[Line] = []  # the right column, down to a line across both
    for row in rows:
        if len(row) == 2:
            ordered.append(row[0])
            later.append(row[1])
        elif row[0].left > x:
            later.append(row[0])
        elif row[0].right < x:
            ordered.append(row[0])
        else:
            ordered += [*later, row[0]]
            later = []
    return ordered + later


def rows_together(lines: list[Line]) -> list[Line]:
    """Restore the rows of a table stored column by column: move figures next to their labels."""
    cells = [
        number
        for number, line in enumerate(lines)
        if len(line.text) <= CELL and is_cell(line.text)  # few lines are so short
    ]
    if len(cells) < MIN_LABELS:
        return lines
    beside = _beside(lines, cells)
    if not beside:
        return lines
    heads = _heads(lines, beside, set(cells).difference(*beside.values()))
    taken = {number for some in (*beside.values(), *heads.values()) for number in some}
    rows: list[Line] = []
    for number, line in enumerate(lines):
        if number in heads:
            first, *others = sorted(heads[number], key=lambda cell: lines[cell].left)
            rows.append(_row(lines, first, others))
        if number in beside:
            rows.append(_row(lines, number, beside[number]))
        elif number not in taken:
            rows.append(line)
    return rows


def _row(lines: Sequence[Line], first: int, cells: Sequence[int]) -> Line:
    parts = [lines[first], *sorted((lines[cell] for cell in cells), key=lambda cell: cell.left)]
    text = " ".join(part.text for part in parts)
    bold = all(part.bold for part in parts)
    return parts[0]._replace(text=text, right=parts[-1].right, bold=bold)


def _beside(lines: Sequence[Line], cells: Sequence[int]) -> dict[int, list[int]]:
    """Return labels with their cells, only for consecutive labels: the figures of a chart are only
    occasionally next to a line of text."""
    is_cell_line = set(cells)
    labels = sorted(
        (line.bottom, number)
        for number, line in enumerate(lines)
        if number not in is_cell_line and LABEL.search(line.text)
    )
    found: dict[int, list[int]] = {}
    for number in cells:
        cell = lines[number]
        near = range(
            bisect_left(labels, (cell.bottom - 0.4 * cell.height, -1)),
            bisect_left(labels, (cell.bottom + 0.4 * cell.height, -1)),
        )
        left = [labels[at][1] for at in near if lines[labels[at][1]].right < cell.left]
        if left:
            found.setdefault(max(left, key=lambda label: lines[label].left), []).append(number)
    groups: list[list[int]] = []
    for number in sorted(found):
        if groups and number - groups[-1][-1] <= 2:  # a label on two lines
            groups[-1].append(number)
        else:
            groups.append([number])
    return {n: found[n] for group in groups if len(group) >= MIN_LABELS for n in group}


def _heads(
    lines: Sequence[Line], beside: dict[int, list[int]], cells: set[int]
) -> dict[int, list[int]]:
    """Return figures directly above the first label, such as years, which precede it."""
    heads: dict[int, list[int]] = {}
    first = min(beside)
    top = lines[first]
    for number in sorted(cells):
        above = lines[number].bottom - top.bottom
        if number > first and 0.5 * top.height < above < 3 * top.height:
            heads.setdefault(first, []).append(number)
    return heads if len(heads.get(first, ())) > 1 else {}
