"""Small tables and lists as a whole: what answers a question about all of their rows or items."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from documents.text.boundaries import Span

from .blocks import Block

MAX_ROWS = 8  # a longer table or list is read row by row, or item by item
MAX_TABLE = 1500  # characters
MAX_LIST = 1200


@dataclass(frozen=True, slots=True)
class Group:
    whole: Block
    first: int  # where its first row or item starts
    header: Span | None = None


def groups_of(blocks: Sequence[Block]) -> Iterator[Group]:
    """Tables with a header; and lists right below a heading, which says what they list."""
    for number, block in enumerate(blocks):
        if block.kind == "header":
            rows = _run(blocks, number + 1, "row")
            if rows and rows[-1].end - block.start <= MAX_TABLE:
                whole = Block("table", block.start, rows[-1].end)
                yield Group(whole, rows[0].start, (block.start, block.end))
        elif block.kind == "heading":
            items = _run(blocks, number + 1, "item")
            if items and items[-1].end - items[0].start <= MAX_LIST:
                yield Group(Block("list", items[0].start, items[-1].end), items[0].start)


def _run(blocks: Sequence[Block], first: int, kind: str) -> Sequence[Block]:
    """The rows or items from there on; none if there is only one, or too many."""
    last = first
    while last < len(blocks) and blocks[last].kind == kind and last - first <= MAX_ROWS:
        last += 1
    return blocks[first:last] if 1 < last - first <= MAX_ROWS else ()
