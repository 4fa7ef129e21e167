"""reStructuredText: keep the source unchanged, mark its titles and literal blocks."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from documents.extractors.base import Extractor
from documents.extractors.cleaning import read_text
from documents.extractors.writer import MAX_TITLE_CHARACTERS
from documents.passages import Block, BlockKind, Extracted
from documents.text.boundaries import trimmed

ADORNMENT = re.compile(r"([!-/:-@\[-`{-~])\1+\s*")
CODE_DIRECTIVE = re.compile(r"\s*\.\. (?:code-block|code|sourcecode|highlight)::[ \t]*(\S*)")
OPTION = re.compile(r"\s*:[\w-]+:(?: .*)?")
ITEM = re.compile(r"\s*(?:[-*+•]|\(?(?:\d{1,3}|[A-Za-z#])[.)])\s+\S")
GRID = re.compile(r"\s*(?:\+[-=+]+\+|=+(?: +=+)+)\s*")
MARKUP = re.compile(r":[\w:.+-]+:(?=`)|[`*]+|(?<=[\w`])_+(?=\W|$)| ?<[^<>`]*>(?=`)")


class RstExtractor(Extractor):
    def extract(self, data: bytes, *, name: str = "") -> Extracted:
        text, warnings = read_text(data, declared=self.declared)
        blocks = tuple(_Source(text).blocks())
        title = next((block.title for block in blocks if block.level == 1), "")
        return Extracted(text=text, blocks=blocks, title=title, warnings=warnings)


class _RstLine(NamedTuple):
    text: str
    start: int

    @property
    def indent(self) -> int:
        return len(self.text) - len(self.text.lstrip())

    @property
    def is_blank(self) -> bool:
        return not self.text.strip()


class _Source:
    def __init__(self, text: str) -> None:
        self.text = text
        self.lines: list[_RstLine] = []
        self.styles: list[tuple[str, bool]] = []  # in order of appearance: the levels
        start = 0
        for line in text.split("\n"):
            self.lines.append(_RstLine(line, start))
            start += len(line) + 1

    def blocks(self) -> Iterator[Block]:
        at = 0
        while at < len(self.lines):
            if self.lines[at].is_blank:
                at += 1
            elif height := self._title_height(at):
                yield self._heading(at, height)
                at += height
            else:
                end = self._paragraph_end(at)
                yield from self._block(self._kind(at), at, end)
                code, language = self._code_after(at, end)
                if code > end:
                    yield from self._block("code", end, code, language)
                at = max(code, end)

    def _title_height(self, at: int) -> int:
        """Return 2 for an underlined title, 3 for one with an overline, 0 for anything else."""
        line = self.lines[at].text
        below = self._adornment(at + 1)
        over = self._adornment(at)
        if over:
            title = self.lines[at + 1].text if at + 1 < len(self.lines) else ""
            same = title.strip() and self._adornment(at + 2) == over
            return 3 if same and len(over) >= len(title.rstrip()) else 0
        if not below or line[:1].isspace():
            return 0
        return 2 if len(below) >= min(len(line.rstrip()), 4) else 0

    def _adornment(self, at: int) -> str:
        if at >= len(self.lines) or not ADORNMENT.fullmatch(self.lines[at].text):
            return ""
        line = self.lines[at].text.rstrip()
        return "" if line in {"::", "..", "--"} else line

    def _heading(self, at: int, height: int) -> Block:
        style = (self.lines[at + height - 1].text[0], height == 3)
        if style not in self.styles:
            self.styles.append(style)
        words = self.lines[at + height - 2].text
        title = " ".join(MARKUP.sub("", words[: 4 * MAX_TITLE_CHARACTERS]).split()) or words.strip()
        start, end = self._span(at, at + height)
        if len(title) > MAX_TITLE_CHARACTERS:
            return Block("text", start, end)
        return Block("heading", start, end, level=self.styles.index(style) + 1, title=title)

    def _paragraph_end(self, at: int) -> int:
        """Return the end of the paragraph: a blank line, or a title directly below it."""
        end = at + 1
        while end < len(self.lines) and not self.lines[end].is_blank:
            if CODE_DIRECTIVE.match(self.lines[end].text) or CODE_DIRECTIVE.match(
                self.lines[end - 1].text
            ):
                break
            end += 1
        if CODE_DIRECTIVE.match(self.lines[at].text):
            while end < len(self.lines) and OPTION.fullmatch(self.lines[end].text):
                end += 1
        return end

    def _kind(self, at: int) -> BlockKind:
        line = self.lines[at].text
        if GRID.fullmatch(line):
            return "table"
        return "list" if ITEM.match(line) else "text"

    def _code_after(self, at: int, end: int) -> tuple[int, str]:
        """Return the end of the indented block that these lines introduce, and its language."""
        directive = CODE_DIRECTIVE.match(self.lines[at].text)
        last = self.lines[end - 1]
        announced = last.text.rstrip().endswith("::") and not last.text.lstrip().startswith("..")
        if not directive and not announced:
            return end, ""
        indent = self.lines[at].indent if directive else last.indent
        code = end
        while code < len(self.lines) and (
            self.lines[code].is_blank or self.lines[code].indent > indent
        ):
            code += 1
        return code, directive[1] if directive else ""

    def _block(self, kind: BlockKind, at: int, end: int, language: str = "") -> Iterator[Block]:
        start, stop = self._span(at, end)
        if start < stop:
            if kind == "code":  # with the indentation of its first line
                start = self.text.rfind("\n", 0, start) + 1
            yield Block(kind, start, stop, language=language)

    def _span(self, at: int, end: int) -> tuple[int, int]:
        last = self.lines[end - 1]
        return trimmed(self.text, self.lines[at].start, last.start + len(last.text))
