"""Readers of file formats. `extractor_for` is the door: the first that accepts wins."""

import re

from documents.errors import UnsupportedType
from documents.extractors.base import Extractor
from documents.extractors.data.delimited import DelimitedExtractor
from documents.extractors.data.notebook import NotebookExtractor
from documents.extractors.data.structured import JsonExtractor
from documents.extractors.encodings import Declared, encoding_named
from documents.extractors.html.epub import EpubExtractor
from documents.extractors.html.extractor import HtmlExtractor
from documents.extractors.images import ImageExtractor
from documents.extractors.mail.eml import EmlExtractor
from documents.extractors.mail.outlook import OutlookExtractor
from documents.extractors.markup.markdown import MarkdownExtractor
from documents.extractors.markup.org import OrgExtractor
from documents.extractors.markup.rst import RstExtractor
from documents.extractors.markup.xml import XmlExtractor
from documents.extractors.office.opendocument import OpenDocumentExtractor
from documents.extractors.office.rtf import RtfExtractor
from documents.extractors.office.slides import SlidesExtractor
from documents.extractors.office.spreadsheet import SpreadsheetExtractor
from documents.extractors.office.word import WordExtractor
from documents.extractors.pdf.extractor import PdfExtractor
from documents.extractors.plain.code import code_extractors
from documents.extractors.plain.text import PlainTextExtractor
from documents.extractors.plain.transcripts import TranscriptExtractor

__all__ = ["Extractor", "extractor_for", "reader_for"]

CHARSET = re.compile(r";\s*charset\s*=\s*[\"']?([\w.:-]+)", re.IGNORECASE)

EXTRACTORS: tuple[Extractor, ...] = (
    MarkdownExtractor(),
    PlainTextExtractor(),
    PdfExtractor(),
    HtmlExtractor(),
    WordExtractor(),
    SlidesExtractor(),
    SpreadsheetExtractor(),
    DelimitedExtractor(),
    JsonExtractor(),
    RstExtractor(),
    EpubExtractor(),
    EmlExtractor(),
    TranscriptExtractor(),
    ImageExtractor(),
    XmlExtractor(),
    RtfExtractor(),
    OpenDocumentExtractor(),
    OrgExtractor(),
    NotebookExtractor(),
    OutlookExtractor(),
    *code_extractors(),
)


def extractor_for(media_type: str) -> Extractor:
    for extractor in EXTRACTORS:
        if extractor.accepts(media_type):
            return extractor
    raise UnsupportedType(f"Files of type {media_type or 'unknown'} cannot be read here.")


def reader_for(media_type: str, *, encoding: str = "") -> Extractor:
    """The extractor for one file: `encoding` is what its uploader chose, a charset in the media
    type what some program declared."""
    extractor = extractor_for(media_type)
    if chosen := encoding_named(encoding) if encoding else "":
        return extractor.with_encoding(Declared(chosen, binding=True))
    found = CHARSET.search(media_type)
    stated = encoding_named(found[1]) if found else ""
    return extractor.with_encoding(Declared(stated)) if stated else extractor
