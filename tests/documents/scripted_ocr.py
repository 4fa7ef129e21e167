"""An OCR engine that says what it is told, for what happens around an engine; and test pictures."""

import io
from typing import Any

from PIL import Image, ImageDraw, ImageFont

from documents.extractors.limits import Limits
from documents.extractors.lines import Line, boxed
from documents.ocr.base import OcrEngine, OcrUnavailable
from documents.ocr.reader import PictureReader

BACKEND = "tests.documents.scripted_ocr.ScriptedOcr"
PLENTY = Limits(memory_bytes=2**40, cpu_seconds=10**6, wall_seconds=10**6)


class ScriptedOcr(OcrEngine):
    name = "scripted"
    seen: list[tuple[int, int]] = []  # the sizes of all pictures of a test

    def __init__(self, *, says: str = "Words on page {page}.", is_broken: bool = False) -> None:
        if is_broken:
            raise OcrUnavailable("There is no such program.")
        self.says = says
        self.pages = 0

    def read(self, picture: Image.Image) -> list[Line]:
        self.pages += 1
        self.seen.append(picture.size)
        said = self.says.format(page=self.pages)
        rows = enumerate(row for row in said.split("\n") if row)
        return [
            boxed(row, 100, 100 + 10 * len(row), -30 - 20 * number, -20 - 20 * number)._replace(
                box=(0.1, 0.1 + number / 10, 0.9, 0.2 + number / 10), confidence=0.9
            )
            for number, row in rows
        ]


def pictures(*, max_pages: int = 100, limits: Limits = PLENTY, **options: Any) -> PictureReader:
    entry = {"BACKEND": BACKEND, "OPTIONS": options}
    return PictureReader(entry, max_pages=max_pages, limits=limits)


def drawn(*rows: str, size: tuple[int, int] = (900, 260), letters: int = 40) -> Image.Image:
    """Black on white, a row below the other."""
    image = Image.new("RGB", size, "white")
    pen = ImageDraw.Draw(image)
    font = ImageFont.load_default(size=letters)
    for number, row in enumerate(rows):
        pen.text((40, 40 + number * letters * 1.6), row, fill="black", font=font)
    return image


def saved(image: Image.Image, kind: str, **options: Any) -> bytes:
    out = io.BytesIO()
    image.save(out, kind, **options)
    return out.getvalue()
