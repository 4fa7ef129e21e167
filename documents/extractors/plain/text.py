"""Plain text: paragraphs are separated by blank lines."""

from documents.extractors.base import Extractor
from documents.extractors.cleaning import read_text
from documents.passages import Block, Extracted
from documents.text.boundaries import paragraph_spans


class PlainTextExtractor(Extractor):
    def extract(self, data: bytes, *, name: str = "") -> Extracted:
        text, warnings = read_text(data, declared=self.declared)
        return Extracted(text=text, blocks=paragraph_blocks(text), warnings=warnings)


def paragraph_blocks(text: str) -> tuple[Block, ...]:
    return tuple(Block("text", start, end) for start, end in paragraph_spans(text, 0, len(text)))
