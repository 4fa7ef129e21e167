"""Set pieces of text found on a picture upright, and put them into reading order."""

import math
from collections.abc import Iterator, Sequence
from statistics import median

from documents.extractors.lines import CELL, Box, Line, merged

Quad = Sequence[tuple[float, float]]  # upper left, upper right, lower right, lower left

MIN_ROWS = 4  # per column
MAX_CROSSING = 0.2  # fraction of the pieces: titles and figures across columns
MAX_COLUMNS = 12
SAME_SIZE = 1.35  # height ratio: letters with and without descenders, not another font size
MIN_ASPECT_RATIO = 3.0  # width to height; shorter pieces say nothing about the angle


def tilt(quads: Sequence[Quad]) -> float:
    """Return the angle of the lines in radians, positive if clockwise."""
    angles = []
    for upper_left, upper_right, _, lower_left in quads:
        across, down = upper_right[0] - upper_left[0], upper_right[1] - upper_left[1]
        height = math.dist(upper_left, lower_left)
        if across > MIN_ASPECT_RATIO * height:
            angles.append(math.atan2(down, across))
    return median(angles) if angles else 0.0


def upright(quad: Quad, angle: float) -> Box:
    """Return the bounding box of a piece after the picture is rotated to level its lines."""
    sine, cosine = math.sin(-angle), math.cos(-angle)
    xs = [x * cosine - y * sine for x, y in quad]
    ys = [x * sine + y * cosine for x, y in quad]
    return min(xs), min(ys), max(xs), max(ys)


def in_reading_order(pieces: Sequence[Line]) -> list[Line]:
    """Order the pieces by row, or by column where the text is in columns."""
    return merged(list(_ordered(_of_even_height(pieces), MAX_COLUMNS)))


def _of_even_height(pieces: Sequence[Line]) -> list[Line]:
    """Give pieces of one font size the same height: the box of "more" is lower than that of
    "Egypt"."""
    if not pieces:
        return []
    usual = median(piece.height for piece in pieces)
    even = []
    for piece in pieces:
        if usual / SAME_SIZE < piece.height < usual * SAME_SIZE:
            centre = (piece.top + piece.bottom) / 2
            low, high = centre - usual / 2, centre + usual / 2
            piece = piece._replace(bottom=low, top=high, height=usual)
        even.append(piece)
    return even


def _ordered(pieces: Sequence[Line], depth: int) -> Iterator[Line]:
    x = _gutter(pieces) if depth else None
    if x is None:
        yield from _row_by_row(pieces)
        return
    left: list[Line] = []
    right: list[Line] = []
    for piece in sorted(pieces, key=lambda piece: -piece.top):
        if piece.right <= x:
            left.append(piece)
        elif piece.left >= x:
            right.append(piece)
        else:  # spans both columns: the text above it is read first
            yield from _both(left, right, depth)
            yield piece
            left, right = [], []
    yield from _both(left, right, depth)


def _both(left: Sequence[Line], right: Sequence[Line], depth: int) -> Iterator[Line]:
    yield from _ordered(left, depth - 1)
    yield from _ordered(right, depth - 1)


def _gutter(pieces: Sequence[Line]) -> float | None:
    """Return where the page divides into columns of text; the columns of a table do not count."""
    best: tuple[int, float] | None = None
    for candidate in sorted({piece.left for piece in pieces}):
        x = candidate - 0.5
        left = [piece for piece in pieces if piece.right <= x]
        right = [piece for piece in pieces if piece.left >= x]
        crossing = len(pieces) - len(left) - len(right)
        if crossing > MAX_CROSSING * len(pieces) or not _are_columns(left, right):
            continue
        if best is None or crossing < best[0]:
            best = crossing, x
    return best[1] if best else None


def _are_columns(left: Sequence[Line], right: Sequence[Line]) -> bool:
    if min(len(left), len(right)) < MIN_ROWS:
        return False
    if any(median(len(piece.text) for piece in side) < CELL - 5 for side in (left, right)):
        return False
    beside = sum(
        any(other.bottom < piece.top and piece.bottom < other.top for other in right)
        for piece in left
    )
    return beside >= MIN_ROWS


def _row_by_row(pieces: Sequence[Line]) -> Iterator[Line]:
    rows: list[list[Line]] = []
    for piece in sorted(pieces, key=lambda piece: -(piece.top + piece.bottom)):
        if rows and _is_beside(rows[-1], piece):
            rows[-1].append(piece)
        else:
            rows.append([piece])
    for row in rows:
        yield from sorted(row, key=lambda piece: piece.left)


def _is_beside(row: Sequence[Line], piece: Line) -> bool:
    """Whether the piece is on this row: the middles are close, and it is not below any piece."""
    first = row[0]
    step = (first.top + first.bottom - piece.top - piece.bottom) / 2
    if step > 0.5 * min(first.height, piece.height):
        return False
    return all(
        piece.left >= one.right - one.height or piece.right <= one.left + one.height for one in row
    )
