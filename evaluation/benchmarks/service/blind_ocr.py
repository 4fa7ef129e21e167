"""An OCR engine that returns only the picture's size, so that fuzzing tests decoders, not a
model."""

from typing import TYPE_CHECKING

from documents.extractors.lines import Line, boxed
from documents.ocr.base import OcrEngine

if TYPE_CHECKING:
    from PIL.Image import Image

BACKEND = f"{__name__}.BlindOcr"


class BlindOcr(OcrEngine):
    name = "blind"

    def read(self, picture: "Image") -> list[Line]:
        width, height = picture.size
        picture.tobytes()  # fails if the picture is incomplete
        line = boxed(f"{width} by {height} pixels", 0, width, -height, 0)
        return [line._replace(box=(0.0, 0.0, 1.0, 1.0), confidence=1.0)]
