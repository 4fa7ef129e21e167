"""The interface of extractors: take a file, return its text and blocks."""

from abc import ABC, abstractmethod
from copy import copy
from io import BytesIO
from typing import TYPE_CHECKING, BinaryIO, Self

from documents.extractors.encodings import Declared
from documents.passages import Extracted

if TYPE_CHECKING:
    from documents.ocr.reader import PictureReader


class Extractor(ABC):
    """Reads one file format. formats.py says for which media types it is used."""

    pictures: "PictureReader | None" = None  # None: OCR is off
    declared: Declared | None = None  # the encoding declared with the file, for text formats

    def with_pictures_read_by(self, pictures: "PictureReader") -> Self:
        """Return a copy that also reads pictures of text, for formats that contain any."""
        extractor = copy(self)
        extractor.pictures = pictures
        return extractor

    def with_encoding(self, declared: Declared) -> Self:
        """Return a copy for a file whose encoding was declared."""
        extractor = copy(self)
        extractor.declared = declared
        return extractor

    @abstractmethod
    def extract(self, data: bytes, *, name: str = "") -> Extracted:
        """Read one file. Raises BadFile if it contains nothing that can be read."""

    def extract_file(self, file: BinaryIO, *, name: str = "") -> Extracted:
        """Read an open, seekable file; by default all of it."""
        return self.extract(file.read(), name=name)


class FileExtractor(Extractor):
    """For formats whose library reads only what it needs: pictures and fonts stay on disk."""

    def extract(self, data: bytes, *, name: str = "") -> Extracted:
        return self.extract_file(BytesIO(data), name=name)

    @abstractmethod
    def extract_file(self, file: BinaryIO, *, name: str = "") -> Extracted: ...


def size_of(file: BinaryIO) -> int:
    """Return the size in bytes, and rewind the file."""
    size = file.seek(0, 2)
    file.seek(0)
    return size
