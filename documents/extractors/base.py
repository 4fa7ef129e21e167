"""What every reader of a file format offers: a file in, text and blocks out."""

from abc import ABC, abstractmethod
from copy import copy
from io import BytesIO
from typing import TYPE_CHECKING, BinaryIO, Self

from documents.extractors.encodings import Declared
from documents.passages import Extracted

if TYPE_CHECKING:
    from documents.ocr.reader import PictureReader


class Extractor(ABC):
    """Reads one format. Which media types it is used for is written in formats.py."""

    pictures: "PictureReader | None" = None  # who reads them; None: OCR is off
    declared: Declared | None = None  # the encoding that came with the file, for formats of text

    def with_pictures_read_by(self, pictures: "PictureReader") -> Self:
        """A copy that reads pictures of text too; for formats that hold any."""
        extractor = copy(self)
        extractor.pictures = pictures
        return extractor

    def with_encoding(self, declared: Declared) -> Self:
        """A copy for a file whose encoding was named by somebody."""
        extractor = copy(self)
        extractor.declared = declared
        return extractor

    @abstractmethod
    def extract(self, data: bytes, *, name: str = "") -> Extracted:
        """Read one file. Raises a BadFile where it holds nothing that can be read."""

    def extract_file(self, file: BinaryIO, *, name: str = "") -> Extracted:
        """The same from an open, seekable file, which is read whole."""
        return self.extract(file.read(), name=name)


class FileExtractor(Extractor):
    """For formats whose library reads only what it needs: pictures and fonts stay on disk."""

    def extract(self, data: bytes, *, name: str = "") -> Extracted:
        return self.extract_file(BytesIO(data), name=name)

    @abstractmethod
    def extract_file(self, file: BinaryIO, *, name: str = "") -> Extracted: ...


def size_of(file: BinaryIO) -> int:
    """In bytes. Leaves the file at its beginning."""
    size = file.seek(0, 2)
    file.seek(0)
    return size
