"""RTF: paragraphs, as read by striprtf."""

import re

from striprtf.striprtf import rtf_to_text

from documents.errors import EmptyFile, NoText
from documents.extractors.base import Extractor
from documents.extractors.cleaning import clean
from documents.extractors.data.tables import reading
from documents.extractors.writer import TextWriter
from documents.passages import Extracted

INFO = re.compile(r"\{\\(title|author)\s((?:[^{}\\]|\\'[0-9a-f]{2}|\\u-?\d+ ?\??){0,300})\}")
CODE_PAGE = re.compile(r"\\ansicpg(\d{3,5})")


class RtfExtractor(Extractor):
    def extract(self, data: bytes, *, name: str = "") -> Extracted:
        if not data:
            raise EmptyFile("The file is empty: it has no bytes at all.")
        source = data.decode("latin-1")
        found = CODE_PAGE.search(source[:4000])
        encoding = f"cp{found[1]}" if found else "cp1252"
        with reading("RTF document"):
            text = clean(rtf_to_text(source, encoding=encoding, errors="replace"))
            info = {
                field: " ".join(rtf_to_text("{\\rtf1 " + value + "}", encoding=encoding).split())
                for field, value in INFO.findall(source[:20_000])
            }
        writer = TextWriter()
        for line in text.split("\n"):  # a line is a paragraph in this format
            writer.add("text", line)
        if not writer.blocks:
            raise NoText("The RTF document holds no text.")
        title = info.pop("title", "")
        metadata = {field: value for field, value in info.items() if value}
        return Extracted(
            text=writer.text, blocks=tuple(writer.blocks), title=title, metadata=metadata
        )
