"""Group blocks into runs: blocks under one heading, on one page, that may share passages."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Literal

from documents.passages import Block, BlockKind, Extracted, PassageKind
from documents.text.boundaries import paragraph_spans, trimmed

Path = tuple[str, ...]
RunKind = Literal["text", "code", "table"]

SOLID: Mapping[BlockKind, RunKind] = {"code": "code", "table": "table"}
WORD = re.compile(r"\w")
MAX_CAPTION_CHARACTERS = 80


@dataclass(frozen=True, slots=True)
class Member:
    """A block and its heading path, including its own title if it is a heading."""

    block: Block
    path: Path


@dataclass(frozen=True, slots=True)
class Run:
    """Headings and the text under them, or one code block or table with its headings or caption."""

    kind: RunKind
    members: tuple[Member, ...]
    page: int = 0  # index of the page; 0 if the text has no pages

    @property
    def section(self) -> Path:
        """The heading path of its last block."""
        return self.members[-1].path

    @property
    def sections(self) -> tuple[Path, ...]:
        """The distinct heading paths of its blocks other than headings, in order."""
        paths = (member.path for member in self.members if member.block.kind != "heading")
        return tuple(dict.fromkeys(paths)) or (self.section,)

    @property
    def start(self) -> int:
        return self.members[0].block.start

    @property
    def end(self) -> int:
        return self.members[-1].block.end

    @property
    def blocks(self) -> Iterator[Block]:
        return (member.block for member in self.members)

    @property
    def passage_kind(self) -> PassageKind:
        """The first block decides: a run lies on one page, and OCR reads whole pages."""
        is_read = self.kind == "text" and "ocr_confidence" in self.members[0].block.attributes
        return "image" if is_read else self.kind

    def head_and_body(self) -> tuple["Run", "Run"]:
        """Split code or a table into the text above it, and the block itself."""
        head = Run("text", self.members[:-1], self.page)
        return head, Run(self.kind, self.members[-1:], self.page)

    def attributes_in(self, start: int, end: int) -> dict[str, Any]:
        """Merge the attributes of the blocks between `start` and `end`; the first value wins.

        Boxes are concatenated: together they show where the text is on its page.
        """
        merged: dict[str, Any] = {}
        boxes: list[Any] = []
        first = bisect_right(self.members, start, key=lambda member: member.block.end)
        for index in range(first, len(self.members)):
            block = self.members[index].block
            if block.start >= end:
                break
            merged = {**block.attributes, **merged}
            boxes += block.attributes.get("boxes", ())
        return {**merged, "boxes": boxes} if boxes else merged

    def path_at(self, end: int) -> Path:
        """Return the path of the last block that starts before `end`."""
        after = bisect_left(self.members, end, key=lambda member: member.block.start)
        return self.members[after - 1].path


def outline(extracted: Extracted) -> Iterator[Run]:
    """Yield runs in order. Headings without a body start the run that follows them.

    No run crosses a page, even if its section does: a heading alone at the end of a page is a run.
    """
    open_headings: list[Block] = []
    members: list[Member] = []
    has_body = after_solid = False
    page = 0
    for block_page, block in _paged_blocks(extracted):
        if block_page != page:
            if members:
                yield Run("text", tuple(members), page)
            members, has_body, after_solid, page = [], False, False, block_page
        is_solid = block.kind in SOLID
        if is_solid and after_solid and _is_caption(extracted.text, members):
            has_body = False
        if has_body and (is_solid or block.kind == "heading"):
            yield Run("text", tuple(members), page)
            members, has_body, after_solid = [], False, False
        if block.kind == "heading":
            _enter(block, open_headings)
        path = tuple(heading.title for heading in open_headings if heading.title)
        members.append(Member(block, path))
        if is_solid:
            yield Run(SOLID[block.kind], tuple(members), page)
            members, after_solid = [], True
        has_body = bool(members) and (has_body or _says_something(extracted.text, block))
    if members:
        yield Run("text", tuple(members), page)


def _paged_blocks(extracted: Extracted) -> Iterator[tuple[int, Block]]:
    """Yield each block with its page index; a block that spans pages is split."""
    # Both ends of a page are edges, because text between two pages belongs to neither.
    edges = sorted({edge for page in extracted.pages for edge in (page.start, page.end)})
    for block in _all_blocks(extracted):
        first, last = bisect_right(edges, block.start), bisect_left(edges, block.end)
        if first >= last:
            yield first, block
            continue
        cuts = [block.start, *edges[first:last], block.end]
        for number, span in enumerate(pairwise(cuts), start=first):
            start, end = trimmed(extracted.text, *span)
            if start < end:
                yield number, _piece(block, start, end)


def _piece(block: Block, start: int, end: int) -> Block:
    if block.kind == "heading" and start > block.start:
        return Block("text", start, end)  # its section is already open
    return replace(block, start=start, end=end)


def _all_blocks(extracted: Extracted) -> Iterator[Block]:
    """Yield the blocks, and paragraphs for any text between them."""
    covered = 0
    text = extracted.text
    for block in extracted.blocks:
        yield from (Block("text", *span) for span in paragraph_spans(text, covered, block.start))
        yield block
        covered = block.end
    yield from (Block("text", *span) for span in paragraph_spans(text, covered, len(text)))


def _says_something(text: str, block: Block) -> bool:
    """Whether this is more than a heading or a rule such as "---"."""
    return block.kind != "heading" and bool(WORD.search(text, block.start, block.end))


def _is_caption(text: str, members: list[Member]) -> bool:
    """Whether this is a line such as "And then:" between two code blocks."""
    if len(members) != 1 or members[0].block.kind != "text":
        return False
    block = members[0].block
    return (
        block.end - block.start <= MAX_CAPTION_CHARACTERS
        and "\n" not in text[block.start : block.end]
    )


def _enter(heading: Block, open_headings: list[Block]) -> None:
    while open_headings and open_headings[-1].level >= heading.level:
        open_headings.pop()
    open_headings.append(heading)
