"""Add a readable form and the column headers to passages that contain table rows."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import replace

from documents.chunking import table_text
from documents.chunking.sizes import CountTokens
from documents.passages import Block, Extracted, Passage


def readable_tables(
    extracted: Extracted, passages: Sequence[Passage], *, count_tokens: CountTokens, limit: int
) -> list[Passage]:
    """Return the passages, with `readable` set for those that contain table rows.

    The readable form names the column of each cell, unless that makes it too long for the model. A
    header in another passage is added as the attribute `table_header`.
    """
    tables = [block for block in extracted.blocks if block.kind == "table"]
    results: list[Passage] = []
    for passage in passages:
        overlapping = _overlapping(tables, passage)
        results.append(
            _with_readable(extracted.text, passage, overlapping) if overlapping else passage
        )
    forms = [passage.readable for passage in results if passage.readable]
    counts = iter(count_tokens(forms))
    return [
        replace(passage, readable=_plain(extracted.text, passage, tables))
        if passage.readable and next(counts) > limit
        else passage
        for passage in results
    ]


def _overlapping(tables: Sequence[Block], passage: Passage) -> Sequence[Block]:
    first = bisect_right(tables, passage.start, key=lambda block: block.end)
    last = bisect_right(tables, passage.end - 1, key=lambda block: block.start)
    return tables[first:last]


def _with_readable(text: str, passage: Passage, tables: Sequence[Block]) -> Passage:
    parts: list[str] = []
    position, missing = passage.start, ""
    for block in tables:
        header = table_text.header_of(text, block)
        start, end = max(block.start, passage.start), min(block.end, passage.end)
        if start > block.start:
            missing = table_text.compact(header.text)
        elif header.names:
            start += len(header.text)
        parts += [text[position : max(block.start, passage.start)]]
        parts += [table_text.spoken(text[start:end], header.names)]
        position = end
    parts.append(text[position : passage.end])
    attributes = {**passage.attributes, "table_header": missing} if missing else passage.attributes
    return replace(passage, readable="".join(parts), attributes=attributes)


def _plain(text: str, passage: Passage, tables: Sequence[Block]) -> str:
    parts: list[str] = []
    position = passage.start
    if header := passage.attributes.get("table_header"):
        parts.append(table_text.plain(header) + "\n")
    for block in _overlapping(tables, passage):
        start, end = max(block.start, passage.start), min(block.end, passage.end)
        parts += [text[position:start], table_text.plain(text[start:end])]
        position = end
    return "".join([*parts, text[position : passage.end]])
