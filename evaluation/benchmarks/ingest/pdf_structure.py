"""Summarise what the PDF reader extracts from a folder of reports: titles, sections, tables, time.

python -m evaluation.benchmarks.ingest.pdf_structure --data DIR [--pages 3]
"""

import argparse
import re
import sys
import time
from bisect import bisect_right
from collections.abc import Iterator
from pathlib import Path

from documents.errors import BadFile
from documents.extractors.pdf.extractor import PdfExtractor
from documents.passages import Block, Extracted

NAMED = re.compile(
    r"(?i)\b(?:item|note|part|exhibit) \w+|\bstatements?\b|\bbalance sheets?\b|^\d+\. "
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="a folder; its PDFs are read")
    parser.add_argument("--pages", type=int, default=0, help="print this many pages with tables")
    options = parser.parse_args()
    paths = sorted(options.data.rglob("*.pdf"))
    if not paths:
        sys.exit(f"{options.data} holds no PDF.")
    _write(f"{'file':42} pages sections named tables with head  ms/page  title")
    for path in paths:
        started = time.process_time()
        try:
            extracted = PdfExtractor().extract(path.read_bytes(), name=path.name)
        except BadFile as error:
            _write(f"{path.name[:42]:42} {error.code}")
            continue
        seconds = time.process_time() - started
        _write(f"{path.name[:42]:42} {_summary(extracted, seconds)}")
        for page in _table_pages(extracted, options.pages):
            _write(page)


def _write(line: str) -> None:
    sys.stdout.write(f"{line}\n")


def _summary(extracted: Extracted, seconds: float) -> str:
    blocks, pages = extracted.blocks, extracted.pages
    tables = [block for block in blocks if block.kind == "table"]
    headed = sum(bool(table.attributes.get("header_lines")) for table in tables)
    titles = {block.title for block in blocks if block.kind == "heading"}
    paths = _paths(extracted)
    named = sum(any(map(NAMED.search, path)) for path in paths) / len(pages)
    return (
        f"{len(pages):5} {len(titles):8} {named:5.0%} {len(tables):6} {headed:9}"
        f" {1000 * seconds / len(pages):8.1f}  {extracted.title}"
    )


def _paths(extracted: Extracted) -> Iterator[list[str]]:
    """Return the headings that are open at the end of each page."""
    opened: list[Block] = []
    headings = [block for block in extracted.blocks if block.kind == "heading"]
    number = 0
    for page in extracted.pages:
        while number < len(headings) and headings[number].start < page.end:
            opened = [one for one in opened if one.level < headings[number].level]
            opened.append(headings[number])
            number += 1
        yield [one.title for one in opened]


def _table_pages(extracted: Extracted, count: int) -> Iterator[str]:
    starts = [page.start for page in extracted.pages]
    tables = [block for block in extracted.blocks if block.kind == "table"]
    numbers = dict.fromkeys(bisect_right(starts, table.start) - 1 for table in tables)
    for number in list(numbers)[:count]:
        page = extracted.pages[number]
        yield f"--- page {page.number}"
        for block in extracted.blocks:
            if page.start <= block.start < page.end:
                head = block.attributes.get("header_lines", "")
                text = extracted.text[block.start : block.end]
                yield f"[{block.kind} {block.level or head}] {text}"


if __name__ == "__main__":
    main()
