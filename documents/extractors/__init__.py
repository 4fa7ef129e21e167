"""Readers of file formats. `extractor_for` is the door: the first that accepts wins."""

from documents.errors import UnsupportedType
from documents.extractors.base import Extractor
from documents.extractors.markdown import MarkdownExtractor
from documents.extractors.text import PlainTextExtractor

__all__ = ["Extractor", "extractor_for"]

EXTRACTORS: tuple[Extractor, ...] = (MarkdownExtractor(), PlainTextExtractor())


def extractor_for(media_type: str) -> Extractor:
    for extractor in EXTRACTORS:
        if extractor.accepts(media_type):
            return extractor
    raise UnsupportedType(f"Files of type {media_type or 'unknown'} cannot be read here.")
