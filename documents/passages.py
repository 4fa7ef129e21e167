"""The frozen values between a file and its chunks: extractor → splitter → embedder."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

BlockKind = Literal["heading", "text", "list", "code", "table"]
PassageKind = Literal["text", "code", "table", "image"]  # image: read from a picture
CONVERSATION = "conversation"  # the source type of documents made of turns
MAX_FACT_NAME = 500  # characters of a fact's subject or predicate


@dataclass(frozen=True, slots=True)
class Block:
    """A structural piece of a text: text[start:end], in code points, end exclusive."""

    kind: BlockKind
    start: int
    end: int
    level: int = 0  # only of a heading: 1 is the highest
    title: str = ""  # only of a heading: its words without the markup
    language: str = ""  # only of a code block: the language named by its fence
    # Other data for citations: url_fragment, sheet and rows, time codes, bounding boxes.
    attributes: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Page:
    """A page or slide, and its span in the text."""

    number: int  # from 1, as displayed
    start: int
    end: int
    ocr_confidence: float | None = None  # from 0 to 1, if read by OCR


@dataclass(frozen=True, slots=True)
class Extracted:
    """A document's normalised text, its blocks, and its own title, tags and metadata."""

    text: str
    blocks: tuple[Block, ...] = ()
    pages: tuple[Page, ...] = ()
    title: str = ""
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Passage:
    """A quotable piece of a text: extracted.text[start:end] == passage.text, always."""

    text: str
    start: int
    end: int
    tokens: int
    kind: PassageKind = "text"
    heading_path: tuple[str, ...] = ()
    language: str = ""
    part: int = 0  # for a part of a long code block or table: 1, 2, …; 0 = whole
    # metadata of the blocks it is made of
    attributes: Mapping[str, Any] = field(default_factory=dict)
    # The text to embed if it differs from `text`: table rows with their columns' names.
    readable: str = ""

    @property
    def section(self) -> str:
        return " > ".join(self.heading_path)


@dataclass(frozen=True, slots=True)
class RowFact:
    """A statement in a table's cell or row. extracted.text[start:end] is the row."""

    subject: str
    predicate: str
    object: str
    start: int
    end: int
    certainty: float = 1.0
    user: str = ""
    tags: tuple[str, ...] = ()
    valid_from: datetime | None = None
    valid_to: datetime | None = None
