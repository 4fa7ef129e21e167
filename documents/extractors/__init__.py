"""Readers of file formats.

In: a file and its media type (`extractor_for` looks it up in formats.py). Out: its text, the spans
of blocks and pages in it, and its metadata, as documents.passages.Extracted.
Untrusted files are read by sandbox_worker.py. Plain Python: may import documents.text,
documents.ocr, documents.passages and documents.errors.
"""

import re

from documents.extractors.base import Extractor
from documents.extractors.encodings import Declared, encoding_named
from documents.extractors.formats import Format, extractor_for, format_of

__all__ = ["CHARSET", "Extractor", "Format", "extractor_for", "format_of", "reader_for"]

CHARSET = re.compile(r";\s*charset\s*=\s*[\"']?([\w.:-]+)", re.IGNORECASE)


def reader_for(media_type: str, *, encoding: str = "") -> Extractor:
    """Return the extractor for one file.

    An `encoding` chosen by the uploader is final; a charset in the media type is only a hint.
    """
    extractor = extractor_for(media_type)
    if chosen := encoding_named(encoding) if encoding else "":
        return extractor.with_encoding(Declared(chosen, binding=True))
    found = CHARSET.search(media_type)
    stated = encoding_named(found[1]) if found else ""
    return extractor.with_encoding(Declared(stated)) if stated else extractor
