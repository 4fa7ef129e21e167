"""Org files: lines with stars are headings, source blocks are code, the rest is paragraphs."""

import re
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from typing import Any

from documents.extractors.base import Extractor
from documents.extractors.cleaning import read_text
from documents.extractors.writer import MAX_TITLE_CHARACTERS
from documents.passages import Block, BlockKind, Extracted
from documents.text.boundaries import paragraph_spans

HEADING = re.compile(r"^(\*{1,20})[ \t]+(.*?)(?:[ \t]+(:[\w@#%:]+:))?[ \t]*$", re.MULTILINE)
STATE = re.compile(r"^(?:TODO|DONE|NEXT|WAITING|CANCELLED)\s+|^\[#[A-Z]\]\s+")
SETTING = re.compile(r"^#\+(title|author|date|filetags|language):[ \t]*(.+)$", re.I | re.M)
SOURCE = re.compile(
    r"^[ \t]*#\+begin_(src|example)(?:[ \t]+([\w+-]+))?[^\n]*\n.*?^[ \t]*#\+end_\1[ \t]*$",
    re.IGNORECASE | re.MULTILINE | re.DOTALL,
)
ITEM = re.compile(r"^[ \t]*(?:[-+]|\d+[.)])[ \t]")
DATE = re.compile(r"\d{4}-\d{2}-\d{2}")


class OrgExtractor(Extractor):
    def extract(self, data: bytes, *, name: str = "") -> Extracted:
        text, warnings = read_text(data, declared=self.declared)
        settings = {name.lower(): value.strip() for name, value in SETTING.findall(text)}
        tags = tuple(filter(None, re.split(r"[:\s]+", settings.pop("filetags", ""))))
        blocks = tuple(_blocks(text))
        first = next((b.title for b in blocks if b.kind == "heading"), "")
        return Extracted(
            text=text,
            blocks=blocks,
            title=settings.pop("title", "")[:MAX_TITLE_CHARACTERS] or first,
            tags=tags,
            metadata=_metadata(settings),
            warnings=warnings,
        )


def _metadata(settings: dict[str, str]) -> dict[str, Any]:
    if found := DATE.search(settings.pop("date", "")):
        with suppress(ValueError):  # no such day
            settings["date"] = datetime.fromisoformat(found[0]).date().isoformat()
    return dict(settings)


def _blocks(text: str) -> Iterator[Block]:
    done = 0
    marks = sorted(
        [*SOURCE.finditer(text), *HEADING.finditer(text)], key=lambda found: found.start()
    )
    for found in marks:
        if found.start() < done:  # a line of stars inside a source block
            continue
        yield from _paragraphs(text, done, found.start())
        if found.re is SOURCE:
            language = found[2] or ""
            yield Block("code", found.start(), found.end(), language=language)
        else:
            yield from _heading(found)
        done = found.end()
    yield from _paragraphs(text, done, len(text))


def _heading(found: re.Match[str]) -> Iterator[Block]:
    title = STATE.sub("", STATE.sub("", found[2])).strip()
    if title and len(title) <= MAX_TITLE_CHARACTERS:
        end = found.start() + len(found[0].rstrip())
        yield Block("heading", found.start(), end, level=min(len(found[1]), 9), title=title)


def _paragraphs(text: str, start: int, end: int) -> Iterator[Block]:
    for first, last in paragraph_spans(text, start, end):
        kind: BlockKind = "text"
        if text.startswith("|", first):
            kind = "table"
        elif ITEM.match(text[first : first + 200]):
            kind = "list"
        yield Block(kind, first, last)
