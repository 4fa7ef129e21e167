"""From blocks to runs: what lies under one heading and may share passages."""

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass

from documents.cutting import paragraph_spans
from documents.passages import Block, Extracted, PassageKind

Path = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Member:
    """A block and the titles of the headings it stands under, its own included."""

    block: Block
    path: Path


@dataclass(frozen=True, slots=True)
class Run:
    """Headings and the text under them, or one code block or table with its bare headings."""

    kind: PassageKind
    members: tuple[Member, ...]

    @property
    def start(self) -> int:
        return self.members[0].block.start

    @property
    def end(self) -> int:
        return self.members[-1].block.end

    def without_headings(self) -> tuple["Run", "Run"]:
        """The headings as a run of text, and the last block, a code block or table, apart."""
        return Run("text", self.members[:-1]), Run(self.kind, self.members[-1:])

    def path_at(self, end: int) -> Path:
        """The path of the last block that begins before `end`."""
        after = bisect_left(self.members, end, key=lambda member: member.block.start)
        return self.members[after - 1].path


def outline(extracted: Extracted) -> Iterator[Run]:
    """Runs in order. Headings without a body of their own open the run that follows them."""
    open_headings: list[Block] = []
    members: list[Member] = []
    for block in _all_blocks(extracted):
        if block.kind == "heading":
            if _has_body(members):
                yield Run("text", tuple(members))
                members = []
            _enter(block, open_headings)
        path = tuple(heading.title for heading in open_headings if heading.title)
        member = Member(block, path)
        if block.kind == "code" or block.kind == "table":
            if _has_body(members):
                yield Run("text", tuple(members))
                members = []
            yield Run(block.kind, (*members, member))
            members = []
        else:
            members.append(member)
    if members:
        yield Run("text", tuple(members))


def _all_blocks(extracted: Extracted) -> Iterator[Block]:
    """The blocks, and the paragraphs of any text they leave uncovered."""
    done = 0
    text = extracted.text
    for block in extracted.blocks:
        yield from (Block("text", *span) for span in paragraph_spans(text, done, block.start))
        yield block
        done = block.end
    yield from (Block("text", *span) for span in paragraph_spans(text, done, len(text)))


def _has_body(members: list[Member]) -> bool:
    return bool(members) and members[-1].block.kind != "heading"


def _enter(heading: Block, open_headings: list[Block]) -> None:
    while open_headings and open_headings[-1].level >= heading.level:
        open_headings.pop()
    open_headings.append(heading)
