"""The interface of OCR engines: take a picture, return its lines in reading order."""

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar

from documents.errors import IngestError
from documents.extractors.lines import Line

if TYPE_CHECKING:
    from PIL.Image import Image


class OcrUnavailable(IngestError):
    """Our fault: the configured engine is not available."""

    code = "ocr_unavailable"


class OcrEngine(ABC):
    name: ClassVar[str]  # used in warnings and metadata
    runs_programs: ClassVar[bool] = False  # whether the sandbox must allow it to start programs

    @abstractmethod
    def read(self, picture: "Image") -> list[Line]:
        """Return the lines of an RGB picture, each with its `box` on the picture and `confidence`.

        Other coordinates are those of the text after it is set upright, in pixels.
        """
