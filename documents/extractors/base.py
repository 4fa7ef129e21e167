"""What every reader of a file format offers: bytes in, text and blocks out."""

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar

from documents.passages import Extracted

if TYPE_CHECKING:
    from documents.ocr.reader import PictureReader


class Extractor(ABC):
    media_types: ClassVar[frozenset[str]]
    source_type: ClassVar[str]  # what a document of this kind is called: "md", "txt", …
    is_harmless: ClassVar[bool] = False  # read by our own bounded code, needs no cell
    holds_pictures: ClassVar[bool] = False  # of text: it may need OCR

    def accepts(self, media_type: str) -> bool:
        return media_type.partition(";")[0].strip().lower() in self.media_types

    def with_pictures_read_by(self, pictures: "PictureReader") -> "Extractor":
        """The same reader, with OCR. Most formats have no use for it."""
        return self

    @abstractmethod
    def extract(self, data: bytes, *, name: str = "") -> Extracted:
        """Read one file; raises a BadFile when there is nothing to be read."""
