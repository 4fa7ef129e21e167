"""Small tables and lists as a whole, for questions about all of their rows or items."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from documents.text.boundaries import Span

from .blocks import PassageBlock

MAX_ROWS = 8  # longer tables and lists are read by row or item
MAX_TABLE = 1500  # characters
MAX_LIST = 1200


@dataclass(frozen=True, slots=True)
class Group:
    whole: PassageBlock
    first: int  # where its first row or item starts
    header: Span | None = None


def groups_of(blocks: Sequence[PassageBlock]) -> Iterator[Group]:
    """Return tables with a header, and lists directly below a heading, which names their topic."""
    for number, block in enumerate(blocks):
        if block.kind == "header":
            rows = _run(blocks, number + 1, "row")
            if rows and rows[-1].end - block.start <= MAX_TABLE:
                whole = PassageBlock("table", block.start, rows[-1].end)
                yield Group(whole, rows[0].start, (block.start, block.end))
        elif block.kind == "heading":
            items = _run(blocks, number + 1, "item")
            if items and items[-1].end - items[0].start <= MAX_LIST:
                yield Group(PassageBlock("list", items[0].start, items[-1].end), items[0].start)


def _run(blocks: Sequence[PassageBlock], first: int, kind: str) -> Sequence[PassageBlock]:
    """Return the rows or items from there on; none if there is only one, or too many."""
    last = first
    while last < len(blocks) and blocks[last].kind == kind and last - first <= MAX_ROWS:
        last += 1
    return blocks[first:last] if 1 < last - first <= MAX_ROWS else ()
