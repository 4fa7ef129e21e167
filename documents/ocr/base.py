"""What every OCR engine offers: a picture in, lines in reading order out."""

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar

from documents.errors import IngestError
from documents.extractors.lines import Line

if TYPE_CHECKING:
    from PIL.Image import Image


class OcrUnavailable(IngestError):
    """Our fault: the engine named in the settings is not available."""

    code = "ocr_unavailable"


class OcrEngine(ABC):
    name: ClassVar[str]  # as warnings and metadata call it
    runs_programs: ClassVar[bool] = False  # the sandbox lets it start programs then

    @abstractmethod
    def read(self, picture: "Image") -> list[Line]:
        """The lines of an RGB picture, each with its `box` on the picture and its `confidence`.

        Their other places are those of the text set upright, in pixels.
        """
