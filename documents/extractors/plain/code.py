"""Program code and configuration: kept verbatim, in sections by the symbols or keys defined."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from documents.extractors.base import Extractor
from documents.extractors.cleaning import read_text
from documents.passages import Block, Extracted
from documents.text.boundaries import trimmed

MIN_SECTION = 300  # characters; smaller neighbours share a section
MAX_LINE = 500  # characters; a longer line is data or minified, and defines nothing
MAX_INDENT = 8

_WORDS = (
    r"(?:(?:export|default|declare|public|private|protected|internal|static|abstract|final|sealed|"
    r"partial|async|open|override|inline|data|pub(?:\([\w ]*\))?|unsafe|extern|virtual|const)\s+)*"
)
_NAMED = (
    r"(?:function\*?|class|interface|struct|enum|trait|impl|union|func|fn|fun|module|namespace|"
    r"record|object|protocol|extension|defmodule|defp?|sub|package|contract|message|service)"
)
GENERIC = re.compile(rf"^(\s*){_WORDS}{_NAMED}\s+(?:\([^)]*\)\s*)?([\w$.:<>]+)")
PYTHON = re.compile(r"^(\s*)(?:async\s+def|def|class)\s+(\w+)")
TYPESCRIPT = re.compile(
    rf"^(\s*){_WORDS}(?:{_NAMED}|type)\s+([\w$]+)"
    r"|^()(?:export\s+)?(?:const|let|var)\s+([\w$]+)\s*=\s*(?:async\s*)?(?:function|\(|\w+\s*=>)"
)
C_LIKE = re.compile(
    rf"^(\s*){_WORDS}(?:{_NAMED})\s+([\w:<>]+)"
    r"|^(\s{0,8})(?!return|else|new|throw|if|for|while|switch|case|using|import)"
    r"(?:[\w<>\[\],.:*&?]+\s+)+[*&]{0,2}([\w:~]+)\s*\([^;={}]*(?:\)[\w\s]*\{?|,|\()\s*$"
)
SQL = re.compile(
    r"^(\s*)create\s+(?:or\s+replace\s+)?(?:temp(?:orary)?\s+|unique\s+|materialized\s+)*"
    r"(?:table|view|function|procedure|index|trigger|type|schema)\s+(?:if\s+not\s+exists\s+)?"
    r"""([\w."`\[\]]+)""",
    re.IGNORECASE,
)
SHELL = re.compile(r"^(\s*)(?:function\s+([\w:-]+)|([\w:-]+)\s*\(\)\s*\{?)")
MAKEFILE = re.compile(r"^()([\w./%$(){}-]+)\s*:(?![:=])")
DOCKERFILE = re.compile(r"^()(?:FROM)\s+(\S.*)", re.IGNORECASE)
YAML = re.compile(r"""^()["']?([\w$][^:#"'{}\[\]]{0,100}?)["']?\s*:(?:\s|$)""")
BRACKETS = re.compile(r"^()\s*\[{1,2}([^\[\]\n]{1,200})\]{1,2}\s*(?:[#;].*)?$")

PATTERNS = {
    "python": PYTHON,
    "javascript": TYPESCRIPT,
    "typescript": TYPESCRIPT,
    **dict.fromkeys(("c", "cpp", "csharp", "java", "dart", "solidity"), C_LIKE),
    "sql": SQL,
    "shell": SHELL,
    "makefile": MAKEFILE,
    "dockerfile": DOCKERFILE,
    "yaml": YAML,
    "toml": BRACKETS,
    "ini": BRACKETS,
    "hcl": re.compile(r"""^()(?:resource|data|module|variable|output|provider)\s+([^{]+)"""),
}
WITHOUT_SYMBOLS = frozenset({"css", "patch", "batch", "asm"})
# Lines that belong to the definition below: decorators, attributes, comments.
LEADING = re.compile(r"^\s*(?:@|#\[|\[\w|//|/\*|\*|#(?!include|define|if|end|else)|--|\"\"\")")


class CodeExtractor(Extractor):
    def __init__(self, language: str) -> None:
        self.language = language

    def extract(self, data: bytes, *, name: str = "") -> Extracted:
        text, warnings = read_text(data, declared=self.declared)
        pattern = PATTERNS.get(self.language, GENERIC)
        symbols = [] if self.language in WITHOUT_SYMBOLS else list(_symbols(text, pattern))
        blocks = tuple(_blocks(text, symbols, self.language))
        metadata = {"programming_language": self.language}
        return Extracted(text=text, blocks=blocks, metadata=metadata, warnings=warnings)


@dataclass(frozen=True, slots=True)
class _Symbol:
    name: str
    level: int
    start: int  # position of the lines that introduce it
    end: int  # position of the line that defines it


def _symbols(text: str, pattern: re.Pattern[str]) -> Iterator[_Symbol]:
    start, led_from = 0, -1
    for line in text.split("\n"):
        end = start + len(line)
        found = pattern.match(line) if len(line) <= MAX_LINE else None
        if found and (name := next((g for g in found.groups()[1:] if g and g.strip()), "")):
            indent = len(line.expandtabs(4)) - len(line.expandtabs(4).lstrip())
            if indent <= MAX_INDENT:
                first = led_from if led_from >= 0 else start
                yield _Symbol(name.strip(), 2 if indent else 1, first, end)
            led_from = -1
        elif LEADING.match(line):
            led_from = start if led_from < 0 else led_from
        else:
            led_from = -1
        start = end + 1


def _blocks(text: str, symbols: list[_Symbol], language: str) -> Iterator[Block]:
    """Yield a heading (the defining line with what introduces it) and the code for each symbol."""
    done = begun = 0
    for symbol in symbols:
        is_small = symbol.start - begun < MIN_SECTION and begun > 0
        if is_small or symbol.start < done:
            continue
        yield from _code(text, done, symbol.start, language)
        start, end = _whole_lines(text, symbol.start, symbol.end)
        yield Block("heading", start, end, level=symbol.level, title=symbol.name[:200])
        done, begun = end, start
    yield from _code(text, done, len(text), language)


def _code(text: str, start: int, end: int, language: str) -> Iterator[Block]:
    start, end = _whole_lines(text, start, end)
    if start < end:
        yield Block("code", start, end, language=language)


def _whole_lines(text: str, start: int, end: int) -> tuple[int, int]:
    """Strip blank lines at both ends, but keep the indentation of the first line."""
    first, last = trimmed(text, start, end)
    return max(start, text.rfind("\n", 0, first) + 1) if first < last else first, last
