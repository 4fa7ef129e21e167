"""What every reader of a file format offers: bytes in, text and blocks out."""

from abc import ABC, abstractmethod
from typing import ClassVar

from documents.passages import Extracted


class Extractor(ABC):
    media_types: ClassVar[frozenset[str]]
    source_type: ClassVar[str]  # what a document of this kind is called: "md", "txt", …
    is_harmless: ClassVar[bool] = False  # read by our own bounded code, needs no cell
    has_rows: ClassVar[bool] = False  # a table as a whole, whose rows can become facts

    def accepts(self, media_type: str) -> bool:
        return media_type.partition(";")[0].strip().lower() in self.media_types

    @abstractmethod
    def extract(self, data: bytes, *, name: str = "") -> Extracted:
        """Read one file; raises a BadFile when there is nothing to be read."""
