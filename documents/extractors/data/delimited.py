"""CSV and TSV: detect delimiter and encoding, write rows as Markdown tables with a header."""

import csv
import io
import re
from collections import Counter
from collections.abc import Iterator
from typing import BinaryIO

from documents.errors import EmptyFile, NoText
from documents.extractors.base import FileExtractor
from documents.extractors.cleaning import SURROGATES, decode
from documents.extractors.data.tables import (
    GROUP_CHARACTERS,
    as_table,
    reading,
    summary,
    write_table,
)
from documents.extractors.encodings import Declared
from documents.extractors.writer import MAX_TITLE_CHARACTERS, TextWriter
from documents.passages import Extracted

# In this order if two fit equally well: a comma is also a decimal sign.
DELIMITERS = "\t;|,"
NO_DELIMITER = "\x1f"  # for a single column: the unit separator, which no text contains
NO_TEXT = frozenset(DELIMITERS + "\r\n \"'")
SAMPLE_CHARACTERS = 64 * 1024
SAMPLE_ROWS = 500
MAX_CELLS = 5_000_000  # rows times columns, with short rows filled up
MAX_FIELD_BYTES = 16 * 1024 * 1024
LINE = re.compile("[^\r\n]*(?:\r\n?|\n)|[^\r\n]+")


class DelimitedExtractor(FileExtractor):
    def __init__(self, group_characters: int = GROUP_CHARACTERS) -> None:
        self.group_characters = group_characters

    def extract_file(self, file: BinaryIO, *, name: str = "") -> Extracted:
        text, decoding = _source(file.read(), self.declared)
        rows, parsing = _parse(text)
        if not rows:
            raise NoText("The table has no cells with text.")
        table = as_table(rows, max_cells=MAX_CELLS)
        writer = TextWriter()
        writer.add("text", summary(table))
        write_table(writer, table, size=self.group_characters)
        return Extracted(
            text=writer.text,
            title=" ".join(table.caption[:1])[:MAX_TITLE_CHARACTERS],
            blocks=tuple(writer.blocks),
            metadata={"columns": len(table.header), "rows": len(table.rows)},
            warnings=(*decoding, *parsing),
        )


def read_rows(data: bytes) -> tuple[list[str], list[list[str]]]:
    """Return the header and the rows, all of one width, with cells exactly as written."""
    text, _ = _source(data)
    rows, _ = _parse(text)
    table = as_table(rows, max_cells=MAX_CELLS)
    return table.header, table.rows


def _source(data: bytes, declared: Declared | None = None) -> tuple[str, tuple[str, ...]]:
    if not data:
        raise EmptyFile("The file is empty: it has no bytes at all.")
    text, warnings = decode(data, declared=declared)
    # Keep line ends: inside quotes they belong to the cell.
    text = SURROGATES.sub("\ufffd", text.removeprefix("\ufeff").replace("\x00", ""))
    if NO_TEXT.issuperset(text):
        raise NoText("The file holds no text, only empty cells.")
    return text, warnings


def _parse(text: str) -> tuple[list[list[str]], tuple[str, ...]]:
    delimiter, text = _declared_delimiter(text)
    delimiter = delimiter or find_delimiter(text)
    with reading("table"):
        try:
            return _rows(text, delimiter, strict=True), ()
        except csv.Error as error:
            if "unexpected end" not in str(error):
                return _rows(text, delimiter), ("Some quotes stand where none belong.",)
        # Otherwise the rest of the file would become one cell.
        warning = "A quote is opened and never closed; quotes were read as ordinary characters."
        return _rows(text, delimiter, quotes=False), (warning,)


def _rows(
    text: str, delimiter: str, *, strict: bool = False, quotes: bool = True
) -> list[list[str]]:
    csv.field_size_limit(MAX_FIELD_BYTES)
    reader = csv.reader(
        _lines(text),
        delimiter=delimiter,
        strict=strict,
        quoting=csv.QUOTE_MINIMAL if quotes else csv.QUOTE_NONE,
    )
    return [row for row in reader if any(map(str.strip, row))]


def _lines(text: str) -> Iterator[str]:
    """Yield lines with their ends. StringIO would copy the text at four bytes per character."""
    return (line[0] for line in LINE.finditer(text))


def _declared_delimiter(text: str) -> tuple[str, str]:
    """Return the delimiter of Excel's "sep=;" line, and the text after it."""
    line, _, rest = text.partition("\n")
    line = line.strip("\r\"' ")
    if len(line) == 5 and line.lower().startswith("sep="):
        return line[4], rest
    return ("\t", rest) if line.lower() == "sep=" and line else ("", text)


def find_delimiter(text: str) -> str:
    """Return the delimiter that splits most rows into the same number of columns."""
    sample = text[:SAMPLE_CHARACTERS]
    if len(text) > SAMPLE_CHARACTERS:  # the last line may be incomplete
        sample = sample[: sample.rfind("\n") + 1] or sample
    best, best_score = NO_DELIMITER, 0.0
    for delimiter in DELIMITERS:
        if delimiter in sample and (score := _consistency(sample, delimiter)) > best_score:
            best, best_score = delimiter, score
    return best


def _consistency(sample: str, delimiter: str) -> float:
    """Return the fraction of rows of the most common width; 0 if the header is not split."""
    widths: list[int] = []
    try:
        for row in csv.reader(io.StringIO(sample, newline=""), delimiter=delimiter):
            if any(map(str.strip, row)):
                widths.append(len(row))
            if len(widths) == SAMPLE_ROWS:
                break
    except csv.Error:
        pass
    if not widths:
        return 0.0
    columns, count = Counter(widths).most_common(1)[0]
    if columns == 1:
        wider = sum(width > 1 for width in widths) / len(widths)
        return 0.1 * wider if wider > 0.5 and widths[0] > 1 else 0.0  # very ragged rows
    # A column of sentences has commas, too, but rarely in its name.
    return count / len(widths) * (1.0 if widths[0] > 1 else 0.5)
