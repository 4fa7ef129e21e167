"""Draw one page of a PDF, or one picture of an image file, within limits."""

from base64 import b64encode
from collections.abc import Sequence
from contextlib import closing
from ctypes import byref, c_int
from dataclasses import dataclass
from io import BytesIO
from itertools import islice
from typing import Any, BinaryIO

import pypdfium2
from PIL import Image
from pypdfium2 import raw

from documents.errors import BadFile, ParseError
from documents.extractors.drawing.words import find
from documents.extractors.images import ImageExtractor, plain
from documents.extractors.pdf.extractor import mapped
from documents.extractors.pdf.lines import indexed_text

Box = tuple[float, float, float, float]  # left, top, right, bottom, as shares of the page

MAX_SIDE = 3000  # pixels
MAX_SCALE = 4.0  # pixels for each point of a PDF: a tiny page stays small
MAX_MARKS = 400
QUALITY = 85
GRID = 100_000  # PDFium gives whole numbers, so shares are taken from a page of this size
SAME_LINE = 0.5  # of the lower one's height that two boxes must share


class NoSuchPage(BadFile):
    code = "no_such_page"


@dataclass(frozen=True, slots=True)
class Drawing:
    """A request: for the picture (`side` > 0), or for the passage's position on the page."""

    page: int  # from 1
    side: int = 0  # the longer side in pixels
    passage: str = ""
    skip: int = 0  # earlier occurrences of the passage on the page


def draw(file: BinaryIO, media_type: str, drawing: Drawing) -> dict[str, Any]:
    """Return `picture` (a JPEG in base64) or `marks` (boxes). Raises a BadFile."""
    try:
        if media_type == "application/pdf":
            return _of_pdf(file, drawing)
        return {"picture": _of_image(file, drawing)} if drawing.side else {"marks": []}
    except (BadFile, MemoryError):
        raise
    except Exception as error:  # damaged files raise almost anything in the libraries
        raise ParseError("The page is damaged: it cannot be drawn.") from error


def _of_pdf(file: BinaryIO, drawing: Drawing) -> dict[str, Any]:
    with closing(pypdfium2.PdfDocument(mapped(file))) as document:
        if not 1 <= drawing.page <= len(document):
            raise NoSuchPage("The file has no such page.")
        with closing(document[drawing.page - 1]) as page:
            if drawing.side:
                return {"picture": _jpeg(_rendered(page, drawing.side))}
            return {"marks": _marks(page, drawing)}


def _rendered(page: Any, side: int) -> Image.Image:
    longest = max(page.get_size())
    if longest <= 0:
        raise ParseError("The page has no size.")
    scale = min(min(side, MAX_SIDE) / longest, MAX_SCALE)
    with closing(page.render(scale=scale)) as bitmap:
        picture: Image.Image = bitmap.to_pil().convert("RGB")
        return picture


def _of_image(file: BinaryIO, drawing: Drawing) -> str:
    pictures = ImageExtractor(max_pages=drawing.page).pictures_in(file)
    picture = next(islice(pictures, drawing.page - 1, None), None)
    if picture is None:
        raise NoSuchPage("The file has no such picture, or it is damaged.")
    side = min(drawing.side, MAX_SIDE)
    picture.thumbnail((side, side))
    return _jpeg(picture)


def _jpeg(picture: Image.Image) -> str:
    buffer = BytesIO()
    plain(picture).save(buffer, "JPEG", quality=QUALITY)
    return b64encode(buffer.getvalue()).decode()


def _marks(page: Any, drawing: Drawing) -> list[Box]:
    with closing(page.get_textpage()) as textpage:
        boxes: list[Box] = []
        for start, end in find(indexed_text(textpage), drawing.passage, skip=drawing.skip):
            for number in range(min(textpage.count_rects(start, end - start), MAX_MARKS)):
                boxes.append(_shares(page, textpage.get_rect(number)))
    return _joined(boxes)[:MAX_MARKS]


def _shares(page: Any, rect: Sequence[float]) -> Box:
    """Convert from the page's own coordinates, which may be rotated and cropped."""
    left, bottom, right, top = rect
    corners = [_on_grid(page, left, top), _on_grid(page, right, bottom)]
    (x0, y0), (x1, y1) = corners
    return min(x0, x1), min(y0, y1), max(x0, x1), max(y0, y1)


def _on_grid(page: Any, x: float, y: float) -> tuple[float, float]:
    across, down = c_int(), c_int()
    raw.FPDF_PageToDevice(page, 0, 0, GRID, GRID, 0, x, y, byref(across), byref(down))
    return _share(across.value), _share(down.value)


def _share(value: int) -> float:
    return round(min(max(value / GRID, 0.0), 1.0), 4)


def _joined(boxes: Sequence[Box]) -> list[Box]:
    """Return one box per stretch of a line: PDFium returns one per change of font."""
    lines: list[Box] = []
    for box in boxes:
        if lines and _go_together(lines[-1], box):
            last = lines[-1]
            lines[-1] = (
                min(last[0], box[0]),
                min(last[1], box[1]),
                max(last[2], box[2]),
                max(last[3], box[3]),
            )
        else:
            lines.append(box)
    return lines


def _go_together(one: Box, other: Box) -> bool:
    shared = min(one[3], other[3]) - max(one[1], other[1])
    height = min(one[3] - one[1], other[3] - other[1])
    gap = other[0] - one[2]
    return shared > SAME_LINE * height and -0.01 < gap < 0.03
