"""Read the pages of a PDF that are pictures: rendered by PDFium, read by OCR."""

import re
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pypdfium2
from pypdfium2 import raw

from documents.extractors.lines import Line
from documents.ocr.base import OcrUnavailable

if TYPE_CHECKING:
    from PIL.Image import Image

    from documents.ocr.reader import PictureReader

DOTS_PER_INCH = 200
MAX_SIDE = 4000  # pixels, for a page of any size
MIN_CHARACTERS = 200  # fewer may be a stamp on a scan
SCANNED_SHARE = 0.5  # a page is a scan if one image covers this fraction of it
# Private use and replacement characters, from fonts that do not say what they show.
UNREADABLE = re.compile("[\ue000-\uf8ff\ufffd\U000f0000-\U0010ffff]")


@dataclass(slots=True)
class Scans:
    """The results for pages that needed OCR; pages are counted from 1."""

    engine: str = ""
    tried: list[int] = field(default_factory=list)
    found: list[int] = field(default_factory=list)
    unread: list[int] = field(default_factory=list)
    stopped: str = ""  # why some were not read


def read_scans(document: Any, pages: list[list[Line] | None], pictures: "PictureReader") -> Scans:
    """Read the pages without a usable text layer, and insert their lines."""
    scans = Scans(engine=pictures.name)
    for index, lines in enumerate(pages):
        picture = _picture(document, index, lines)
        if picture is None:
            continue
        try:
            read = pictures.read(picture)
        except OcrUnavailable as error:
            if not any(pages):
                raise
            read = None
            pictures.stopped = str(error).rstrip(".")
        if read is None:
            scans.unread.append(index + 1)
            continue
        scans.tried.append(index + 1)
        if _characters(read) > (0 if lines and is_garbled(lines) else _characters(lines or ())):
            pages[index] = read
            scans.found.append(index + 1)
    scans.stopped = pictures.stopped
    return scans


def is_garbled(lines: Sequence[Line]) -> bool:
    found = sum(len(UNREADABLE.findall(line.text)) for line in lines if not line.text.isascii())
    return found * 2 > _characters(lines)


def _characters(lines: Sequence[Line]) -> int:
    return sum(len(line.text) for line in lines)


def _picture(document: Any, index: int, lines: list[Line] | None) -> "Image | None":
    """Render the page if it needs OCR; None if not, or if PDFium cannot render it."""
    stamped = lines and _characters(lines) < MIN_CHARACTERS
    if lines and not stamped and not is_garbled(lines):
        return None
    try:
        with closing(document[index]) as page:
            if stamped and not is_garbled(lines or ()) and not _is_scan(page):
                return None
            return _drawn(page)
    except (pypdfium2.PdfiumError, ValueError, OverflowError):
        return None


def _is_scan(page: Any) -> bool:
    width, height = page.get_size()
    images = page.get_objects(filter=[raw.FPDF_PAGEOBJ_IMAGE], max_depth=3)
    return any(_area(image.get_bounds()) > SCANNED_SHARE * width * height for image in images)


def _area(bounds: Sequence[float]) -> float:
    left, bottom, right, top = bounds
    return (right - left) * (top - bottom)


def _drawn(page: Any) -> "Image | None":
    longest = max(page.get_size())
    if longest <= 0:
        return None
    scale = min(DOTS_PER_INCH / 72, MAX_SIDE / longest)
    with closing(page.render(scale=scale)) as bitmap:
        picture: Image = bitmap.to_pil().convert("RGB")
        return picture
