"""Markdown: separate the front matter, keep the source unchanged and mark its blocks."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.token import Token

from documents.errors import NoText
from documents.extractors.base import Extractor
from documents.extractors.cleaning import read_text
from documents.extractors.markup.front_matter import read_front_matter
from documents.extractors.plain.text import paragraph_blocks
from documents.extractors.writer import MAX_TITLE_CHARACTERS
from documents.passages import Block, BlockKind, Extracted
from documents.text.boundaries import Span, trimmed

# Tokens take 1 to 3 KB for each line or table cell: more would exhaust the worker's memory.
MAX_PIECES = 200_000

KINDS: Mapping[str, BlockKind] = {
    "heading_open": "heading",
    "fence": "code",
    "code_block": "code",
    "table_open": "table",
    "bullet_list_open": "list",
    "ordered_list_open": "list",
}

# Only blocks are parsed: inline rules are slow on hostile text and do not affect blocks.
PARSER = MarkdownIt("commonmark", {"html": False}).enable("table")
PARSER.core.ruler.disable(["inline", "text_join"])


class MarkdownExtractor(Extractor):
    def extract(self, data: bytes, *, name: str = "") -> Extracted:
        source, warnings = read_text(data, declared=self.declared)
        front = read_front_matter(source)
        if not front.text.strip():
            raise NoText("The file holds front matter but no text after it.")
        blocks, trouble = _blocks(front.text, unread=front.unread)
        fields = dict(front.fields)
        return Extracted(
            text=front.text,
            title=_title(fields.pop("title", None)) or _first_heading(blocks),
            tags=_tags(fields.pop("tags", None)),
            metadata=fields,
            blocks=blocks,
            warnings=(*warnings, *front.warnings, *trouble),
        )


def _title(value: Any) -> str:
    if value is None or isinstance(value, list | dict):
        return ""
    return " ".join(str(value).split())[:MAX_TITLE_CHARACTERS]


def _first_heading(blocks: Iterable[Block]) -> str:
    return next((block.title for block in blocks if block.level == 1 and block.title), "")


def _tags(value: Any) -> tuple[str, ...]:
    """Return the tags of a list or a comma-separated string, without duplicates, in order."""
    if value is None or isinstance(value, dict):
        return ()
    items = value if isinstance(value, list) else str(value).split(",")
    return tuple(dict.fromkeys(tag for item in items if (tag := _title(item))))


def _blocks(text: str, *, unread: int) -> tuple[tuple[Block, ...], tuple[str, ...]]:
    """Return the blocks, and a warning if the Markdown was read as plain paragraphs."""
    body = text[unread:]
    if body.count("\n") + body.count("|") > MAX_PIECES:
        return paragraph_blocks(text), ("The Markdown is too large to be read by its structure.",)
    try:
        blocks = list(_parsed(body))
    except Exception as error:  # the parser may raise anything; the text is kept
        warning = f"The Markdown could not be read by its structure: {type(error).__name__}."
        return paragraph_blocks(text), (warning,)
    return tuple(_shifted(_without_gaps(body, blocks), by=unread, head=text[:unread])), ()


def _parsed(text: str) -> Iterator[Block]:
    offsets = _line_offsets(text)
    environment: dict[str, Any] = {}
    tokens = PARSER.parse(text, environment)
    for index, token in enumerate(tokens):
        if token.level or token.nesting < 0 or token.map is None:
            continue
        first_line, end_line = token.map
        start, end = trimmed(text, offsets[first_line], offsets[end_line])
        kind = KINDS.get(token.type, "text")
        if start == end:
            continue
        if kind == "heading":
            title = _plain(tokens[index + 1].content, environment)
            yield _heading(Block(kind, start, end, level=int(token.tag[1:]), title=title))
        else:
            yield Block(kind, start, end, language=next(iter(token.info.split()), ""))


def _heading(block: Block) -> Block:
    return (
        block if len(block.title) <= MAX_TITLE_CHARACTERS else Block("text", block.start, block.end)
    )


def _line_offsets(text: str) -> list[int]:
    """Return where each line starts, and the end. Only \\n ends a line, unlike in splitlines()."""
    offsets = [0]
    while (line_end := text.find("\n", offsets[-1])) >= 0:
        offsets.append(line_end + 1)
    return [*offsets, len(text)]


def _plain(markup: str, environment: dict[str, Any]) -> str:
    """Return a heading's text without markup."""
    tokens: list[Token] = []
    # Inline rules are slow on hostile text, so only the start of it is parsed.
    PARSER.inline.parse(markup[: 4 * MAX_TITLE_CHARACTERS], PARSER, environment, tokens)
    return " ".join(_words(tokens).split())


def _words(tokens: Iterable[Token]) -> str:
    return "".join(map(_word, tokens))


def _word(token: Token) -> str:
    if token.children:  # an image, whose alternative text may contain markup
        return _words(token.children)
    return " " if token.type in {"softbreak", "hardbreak"} else token.content


def _without_gaps(text: str, blocks: Iterable[Block]) -> Iterator[Block]:
    """Add link definitions, which have no tokens, but are text that can be searched for."""
    done = 0
    for block in blocks:
        yield from _text_block(trimmed(text, done, block.start))
        yield block
        done = block.end
    yield from _text_block(trimmed(text, done, len(text)))


def _text_block(span: Span) -> Iterator[Block]:
    if span[0] < span[1]:
        yield Block("text", *span)


def _shifted(blocks: Iterable[Block], *, by: int, head: str) -> Iterator[Block]:
    yield from _text_block(trimmed(head, 0, by))
    for block in blocks:
        yield replace(block, start=block.start + by, end=block.end + by) if by else block
