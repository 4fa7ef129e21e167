"""Parse a passage into blocks by its lines: paragraphs, list items, table rows, code, headings."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from documents.text.boundaries import Span

PassageBlockKind = Literal["text", "item", "row", "header", "code", "heading", "table", "list"]

MAX_HEADING = 90  # characters; a longer line is not a heading
MAX_HEADER_ROW = 400

_LINE = re.compile(r"[^\n]*\n?")
_FENCE = re.compile(r"[ \t]*(```+|~~~+)")
_HEADING = re.compile(r"[ \t]{0,3}#{1,6}[ \t]+\S")
_UNDERLINE = re.compile(r"[ \t]*([=~^\"*+#-])\1{2,}[ \t]*")
_ITEM = re.compile(r"([ \t]*)(?:[-*+•‣◦–·]|\(?\d{1,3}[.)]|\(?[a-zA-Z][.)])[ \t]+\S")
_RULE_CHARACTERS = frozenset(" \t|:+=-")
_NOISE = re.compile(r"[ \t]*(?:\{%.*%\}|<!--.*-->|:::.*|---+|\.\. \S+::.*)[ \t]*")


@dataclass(frozen=True, slots=True)
class PassageBlock:
    kind: PassageBlockKind
    start: int
    end: int
    indent: int = 0  # of a list item
    lead_in: Span | None = None  # the header of a row, or the line that introduces an item or code


@dataclass(frozen=True, slots=True)
class _Line:
    text: str  # without its line break
    start: int

    @property
    def end(self) -> int:
        return self.start + len(self.text)

    @property
    def is_blank(self) -> bool:
        return not self.text.strip()


Reader = Callable[
    [Sequence[_Line], int], tuple[list[PassageBlock], int]
]  # and the next line's number


def blocks_of(text: str) -> list[PassageBlock]:
    """Return blocks in order, without overlaps. Blank lines, rules and comments are left out."""
    blocks: list[PassageBlock] = []
    lines = [_Line(line[0].rstrip("\n"), line.start()) for line in _LINE.finditer(text) if line[0]]
    number = 0
    while number < len(lines):
        line = lines[number]
        if line.is_blank or _NOISE.fullmatch(line.text):
            number += 1
            continue
        read = _reader_for(lines, number)
        found, number = read(lines, number)
        blocks += _introduced(found, blocks, text)
    return blocks


def _reader_for(lines: Sequence[_Line], number: int) -> Reader:
    text = lines[number].text
    if _FENCE.match(text):
        return _code
    if _is_heading(lines, number):
        return _heading
    if _is_row(lines, number):
        return _table
    if _ITEM.match(text):
        return _item
    return _paragraph


def _code(lines: Sequence[_Line], number: int) -> tuple[list[PassageBlock], int]:
    """Include the fences, but not an opening one if the passage ends before the closing one."""
    opened = _FENCE.match(lines[number].text)
    fence = opened[1][:3] if opened else ""
    last = number + 1
    while last < len(lines) and not lines[last].text.strip().startswith(fence):
        last += 1
    if last < len(lines):
        return [PassageBlock("code", lines[number].start, lines[last].end)], last + 1
    rest = lines[number + 1 :]
    return [PassageBlock("code", rest[0].start, rest[-1].end)] if rest else [], last


def _is_heading(lines: Sequence[_Line], number: int) -> bool:
    line = lines[number]
    if len(line.text) > MAX_HEADING:
        return False
    if _HEADING.match(line.text):
        return True
    below = lines[number + 1].text if number + 1 < len(lines) else ""
    return bool(_UNDERLINE.fullmatch(below)) and "|" not in line.text and "\t" not in line.text


def _heading(lines: Sequence[_Line], number: int) -> tuple[list[PassageBlock], int]:
    line = lines[number]
    below = lines[number + 1].text if number + 1 < len(lines) else ""
    is_underlined = not _HEADING.match(line.text) and _UNDERLINE.fullmatch(below)
    return [PassageBlock("heading", line.start, line.end)], number + (2 if is_underlined else 1)


def _is_row(lines: Sequence[_Line], number: int) -> bool:
    """Whether this is a line between bars, or one with a tab or bar next to another such line."""
    text = lines[number].text.strip()
    if text.startswith("|") and text.count("|") > 1:
        return True
    for mark in ("\t", " | "):
        if text.count(mark) and not _ITEM.match(text):
            near = [*lines[max(0, number - 1) : number], *lines[number + 1 : number + 2]]
            return any(mark in other.text.strip() or _is_rule(other) for other in near)
    return False


def _table(lines: Sequence[_Line], number: int) -> tuple[list[PassageBlock], int]:
    """The header is above a rule; without a rule it is the first of several rows."""
    last = number
    while last < len(lines) and (_is_row(lines, last) or _is_rule(lines[last])):
        last += 1
    rows = lines[number:last]
    rule = next((n for n, row in enumerate(rows[:4]) if _is_rule(row)), None)
    header: Span | None = None
    body = [row for row in rows if not _is_rule(row)]
    if rule:
        header, body = (rows[0].start, rows[rule].end), [r for r in rows[rule:] if not _is_rule(r)]
    elif rule is None and len(body) > 1 and not _has_figures(body[0].text):
        header, body = (body[0].start, body[0].end), body[1:]
    if header and header[1] - header[0] > MAX_HEADER_ROW:
        header = None
    heads = [PassageBlock("header", *header)] if header else []
    return [*heads, *(PassageBlock("row", r.start, r.end, lead_in=header) for r in body)], last


def _is_rule(line: _Line) -> bool:
    return _RULE_CHARACTERS.issuperset(line.text) and ("--" in line.text or "==" in line.text)


def _has_figures(text: str) -> bool:
    return any(character.isdigit() for character in text)


def _item(lines: Sequence[_Line], number: int) -> tuple[list[PassageBlock], int]:
    """Include the lines that continue the item: not blank, another item or a separate block."""
    opened = _ITEM.match(lines[number].text)
    indent = len(opened[1].expandtabs(4)) if opened else 0
    last = number + 1
    while last < len(lines) and _continues(lines, last):
        last += 1
    return [PassageBlock("item", lines[number].start, lines[last - 1].end, indent=indent)], last


def _paragraph(lines: Sequence[_Line], number: int) -> tuple[list[PassageBlock], int]:
    last = number + 1
    while last < len(lines) and _continues(lines, last):
        last += 1
    return [PassageBlock("text", lines[number].start, lines[last - 1].end)], last


def _continues(lines: Sequence[_Line], number: int) -> bool:
    line = lines[number]
    return not (
        line.is_blank or _NOISE.fullmatch(line.text) or _reader_for(lines, number) is not _paragraph
    )


def _introduced(
    found: Sequence[PassageBlock], before: Sequence[PassageBlock], text: str
) -> Iterator[PassageBlock]:
    """Attach to items and code the line that introduces them, if there is one."""
    for block in found:
        if block.kind == "item":
            lead_in = _list_lead_in(block, before, text)
            yield PassageBlock("item", block.start, block.end, block.indent, lead_in)
        elif block.kind == "code" and before and _ends_open(text, before[-1]):
            last = before[-1]
            yield PassageBlock("code", block.start, block.end, lead_in=(last.start, last.end))
        else:
            yield block


def _list_lead_in(item: PassageBlock, before: Sequence[PassageBlock], text: str) -> Span | None:
    """Return the parent item, or the text that introduces the list."""
    for block in reversed(before):
        if block.kind == "item":
            if block.indent < item.indent:
                return block.start, block.end
            if block.indent == item.indent:
                return block.lead_in
            continue
        is_close = "\n\n" not in text[block.end : item.start]
        if block.kind == "text" and (is_close or _ends_open(text, block)):
            return block.start, block.end
        return None
    return None


def _ends_open(text: str, block: PassageBlock) -> bool:
    last = text[block.start : block.end].rstrip()[-1:]
    return block.kind in ("text", "item") and last in (":", "：")
