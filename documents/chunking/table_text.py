"""Tables in a form for models: each row with its column names, without bars and dashes.

Used for embedding, and to find rows and headers. Stored and cited text is not changed.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from documents.passages import Block
from documents.text.boundaries import Span, line_spans

_BAR = re.compile(r"(?<!\\)\|")
_RULE = re.compile(r"[\s|:+=\-]*[-=]{2,}[\s|:+=\-]*")  # | --- | :-: |, === ===, +----+
_GAP = re.compile(r" {2,}|\t")
_LINK = re.compile(r"!?\[([^\]\[]*)\]\([^()\s]*(?:\s+\"[^\"]*\")?\)")
_TAG = re.compile(r"</?[a-zA-Z][^<>]{0,500}>")
_SPACES = re.compile(r"[ \t]+")
_LONG_RULE = re.compile(r"([-=])\1{3,}")
_PADDING = re.compile(r" {2,}(?=\|)")
MAX_HEADER_LINES = 8
MAX_HEADER_CHARACTERS = 1000  # a longer first line is not a header
MAX_NAME = 60  # characters of a column name to repeat in each row


@dataclass(frozen=True, slots=True)
class Header:
    """The header of a table."""

    text: str = ""  # as written, including the rule below it; "" if there is none
    names: tuple[str, ...] = ()  # column names, if bars or gaps separate them


def header_of(text: str, block: Block) -> Header:
    """Return the header: as many lines as the extractor counted, or the lines above a rule."""
    rows = text[block.start : block.end].splitlines(keepends=True)
    lines = block.attributes.get("header_lines", 0)
    if not lines:
        rules = (n for n, row in enumerate(rows[:MAX_HEADER_LINES]) if n and _is_rule(row))
        lines = next(rules, -1) + 1
        if lines == 2 and _is_rule(rows[0]):  # a rule above and below, as in reStructuredText
            lines = 0
        if lines == 1:
            lines = 0
    header = "".join(rows[:lines]).rstrip()
    if not header or lines >= len(rows) or len(compact(header)) > MAX_HEADER_CHARACTERS:
        return Header()
    return Header(header, _names([_cells(row) for row in rows[:lines]]))


def row_spans(text: str, block: Block) -> list[Span]:
    """Return one span for the header, then one per row."""
    start = block.start + len(header_of(text, block).text)
    head = [(block.start, start)] if start > block.start else []
    return [*head, *line_spans(text, start, block.end)]


def compact(header: str) -> str:
    """Shorten rules and padding: each dash would be a token."""
    return _PADDING.sub(" ", _LONG_RULE.sub(r"\1\1\1", header))


def spoken(table: str, names: Sequence[str]) -> str:
    """Return the rows as "column: value" lines."""
    rows = (_row(line, names) for line in table.splitlines())
    return "\n".join(filter(None, rows))


def plain(table: str) -> str:
    """Return only the cells, one line per row; shorter than `spoken`."""
    rows = (", ".join(filter(None, _cells(line))) for line in table.splitlines())
    return "\n".join(filter(None, rows))


def _row(line: str, names: Sequence[str]) -> str:
    cells = _cells(line)
    if len(cells) < 2:
        return ", ".join(filter(None, cells))
    named = zip(cells, [*names, *[""] * len(cells)], strict=False)
    return "; ".join(f"{name}: {cell}" if name else cell for cell, name in named if cell)


def _cells(line: str) -> list[str]:
    line = line.strip()
    if not line or _is_rule(line):
        return []
    line = _TAG.sub(" ", _LINK.sub(r"\1", line))
    if "|" in line:
        cells = [cell.replace("\\|", "|") for cell in _BAR.split(line.strip("|"))]
    else:
        cells = _GAP.split(line.strip())
    return [_SPACES.sub(" ", cell).strip() for cell in cells]


def _is_rule(line: str) -> bool:
    return bool(_RULE.fullmatch(line.strip()))


def _names(rows: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """Join the words of each column from top to bottom, for headers of several lines."""
    filled = [row for row in rows if len(row) > 1]
    width = max(map(len, filled), default=0)
    columns = ([row[n] for row in filled if n < len(row) and row[n]] for n in range(width))
    return tuple(" ".join(column)[:MAX_NAME] for column in columns)
