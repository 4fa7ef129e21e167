"""Columns of PDF pages that were read as one, and lines without places."""

from collections import Counter
from collections.abc import Sequence
from math import ceil, floor
from statistics import median

from documents.lines import CELL, Line, boxed, is_row, tidy

FEWEST_ROWS = 6  # what is less is no column of text


def plain_lines(text: str) -> list[Line]:
    """Lines of a reader that tells no positions: as if they were typed on one machine."""
    rows = enumerate(map(tidy, text.split("\n")))
    return [boxed(row, 0, len(row), -number, 1 - number) for number, row in rows if row]


def gutter(lines: Sequence[Line], runs: Sequence[tuple[float, float]]) -> float | None:
    """Where lines must be cut that PDFium read across two columns written row by row.

    `runs` are the left and right ends of what was written at once: none may cross a gutter.
    """
    reach = 0.3 * (middle(lines) - min(line.left for line in lines))
    first, last = int(middle(lines) - reach), int(middle(lines) + reach)
    allowed = len(runs) // 20  # a title over both columns
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
    """Most lines run across this place."""
    across = sum(line.left < x < line.right for line in lines)
    return across >= FEWEST_ROWS and across * 2 >= len(lines)


def by_columns(rows: Sequence[tuple[Line, ...]], x: float) -> list[Line] | None:
    """Rows cut at the gutter, read column by column; None where they are a table's rows."""
    pairs = [row for row in rows if len(row) == 2]
    starts = sorted(right.left for _, right in pairs)
    if len(pairs) < FEWEST_ROWS or any(
        median(len(row[side].text) for row in pairs) < CELL for side in (0, 1)
    ):
        return None
    usual = median(starts)
    aligned = sum(abs(start - usual) < 4 for start in starts)
    figures = sum(is_row(line.text) for row in pairs for line in row)
    if aligned * 4 < len(pairs) * 3 or figures * 2 > len(pairs):
        return None
    ordered: list[Line] = []
    later: list[Line] = []  # the right column, down to where a line runs over both
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
