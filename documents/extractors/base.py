"""What every reader of a file format offers: a file in, text and blocks out."""

from abc import ABC, abstractmethod
from copy import copy
from io import BytesIO
from typing import TYPE_CHECKING, BinaryIO, ClassVar, Self

from documents.extractors.encodings import Declared
from documents.passages import Extracted

if TYPE_CHECKING:
    from documents.ocr.reader import PictureReader


class Extractor(ABC):
    media_types: ClassVar[frozenset[str]]
    source_type: ClassVar[str]  # what a document of this kind is called: "md", "txt", …
    is_harmless: ClassVar[bool] = False  # read by our own bounded code, needs no sandbox worker
    holds_pictures: ClassVar[bool] = False  # of text: it may need OCR
    has_rows: ClassVar[bool] = False  # a table as a whole, whose rows can become facts
    # Imported by the sandbox worker once, before the forks that read files.
    libraries: ClassVar[tuple[str, ...]] = ()
    pictures: "PictureReader | None" = None  # who reads them; None: OCR is off
    declared: Declared | None = None  # the encoding that came with the file, for formats of text

    def accepts(self, media_type: str) -> bool:
        return media_type.partition(";")[0].strip().lower() in self.media_types

    def with_pictures_read_by(self, pictures: "PictureReader") -> Self:
        """The same reader, able to read pictures of text; for those that hold any."""
        able = copy(self)
        able.pictures = pictures
        return able

    def with_encoding(self, declared: Declared) -> Self:
        """The same reader for a file whose encoding somebody named."""
        able = copy(self)
        able.declared = declared
        return able

    @abstractmethod
    def extract(self, data: bytes, *, name: str = "") -> Extracted:
        """Read one file; raises a BadFile when there is nothing to be read."""

    def extract_file(self, file: BinaryIO, *, name: str = "") -> Extracted:
        """The same from an open, seekable file. A text must be held anyway, so it is read whole."""
        return self.extract(file.read(), name=name)


class FileExtractor(Extractor):
    """For formats of which a library takes what it needs: pictures and fonts stay on disk."""

    def extract(self, data: bytes, *, name: str = "") -> Extracted:
        return self.extract_file(BytesIO(data), name=name)

    @abstractmethod
    def extract_file(self, file: BinaryIO, *, name: str = "") -> Extracted: ...


def size_of(file: BinaryIO) -> int:
    """In bytes; the file stands at its beginning afterwards."""
    size = file.seek(0, 2)
    file.seek(0)
    return size
