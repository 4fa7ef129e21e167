"""Build a text block by block, so that every span is correct by construction."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from documents.extractors.cleaning import clean
from documents.passages import Block, BlockKind

MAX_TITLE_CHARACTERS = 300  # a longer one is a paragraph styled as a heading
GAP = "\n\n"


@dataclass(slots=True)
class TextWriter:
    """Collects blocks in order; `text` is all of them, separated by blank lines."""

    blocks: list[Block] = field(default_factory=list)
    _pieces: list[str] = field(default_factory=list)
    _length: int = 0

    @property
    def text(self) -> str:
        return GAP.join(self._pieces)

    @property
    def position(self) -> int:
        """The position where the next block will start."""
        return self._length + len(GAP) if self._pieces else 0

    def add(
        self,
        kind: BlockKind,
        text: str,
        *,
        level: int = 0,
        title: str = "",
        language: str = "",
        attributes: Mapping[str, Any] | None = None,
    ) -> None:
        """Add a block, unless it is blank. Code keeps the indentation of its first line."""
        text = clean(text).rstrip()
        text = text.lstrip("\n") if kind == "code" else text.lstrip()
        if not text:
            return
        start = self.position
        self._pieces.append(text)
        self._length = start + len(text)
        self.blocks.append(
            Block(kind, start, self._length, level, title, language, attributes or {})
        )

    def read(self, block: Block) -> str:
        """Return the text of a block that was added."""
        if len(self._pieces) > 1:
            self._pieces = [self.text]  # joined once for all blocks
        return self._pieces[0][block.start : block.end]

    def add_heading(
        self, text: str, *, level: int, attributes: Mapping[str, Any] | None = None
    ) -> None:
        title = " ".join(clean(text).split())
        if len(title) <= MAX_TITLE_CHARACTERS:
            self.add("heading", title, level=level, title=title, attributes=attributes)
        else:
            self.add("text", title, attributes=attributes)


def first_heading(blocks: list[Block]) -> str:
    return next((block.title for block in blocks if block.level == 1), "")
