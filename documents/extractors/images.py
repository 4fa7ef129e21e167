"""Read images, including every page of a TIFF, by OCR."""

import warnings
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, BinaryIO

# The modules of the formats as well: if one is missing, Pillow imports all forty.
from PIL import (  # noqa: F401
    Image,
    ImageOps,
    JpegImagePlugin,
    PngImagePlugin,
    TiffImagePlugin,
    WebPImagePlugin,
)

from documents.errors import DecompressionBomb, EmptyFile, NoText, ParseError
from documents.extractors.base import FileExtractor, size_of
from documents.extractors.lines import Line
from documents.extractors.paged import assembled
from documents.extractors.pages import counted
from documents.passages import Extracted

if TYPE_CHECKING:
    from documents.ocr.reader import PictureReader

# Pillow's names. (Its JPEG includes MPO, two pictures in one file, which phones make.)
FORMATS = ("PNG", "JPEG", "TIFF", "WEBP")
DAMAGED = "The image is damaged: it cannot be decoded."


class ImageExtractor(FileExtractor):
    def __init__(self, *, max_pixels: int = 100_000_000, max_pages: int = 1000) -> None:
        self.max_pixels = max_pixels
        self.max_pages = max_pages

    def extract_file(self, file: BinaryIO, *, name: str = "") -> Extracted:
        if not size_of(file):
            raise EmptyFile("The file is empty: it has no bytes at all.")
        image = self._opened(file)
        if self.pictures is None:
            raise NoText("An image holds no text layer, and OCR is switched off.")
        pages: list[list[Line] | None] = []
        unread: list[int] = []
        for number, picture in enumerate(self._pictures(image), start=1):
            lines = self.pictures.read(picture) if picture else None
            if picture and lines is None:
                unread.append(number)
            pages.append(lines)
        if not any(pages):
            raise _nothing_read(pages, self.pictures)
        text, blocks, spans = assembled([page or [] for page in pages])
        return Extracted(
            text=text,
            blocks=blocks,
            pages=spans,
            metadata={"page_count": len(pages), "ocr_engine": self.pictures.name},
            warnings=tuple(_warnings(image, pages, unread, self.pictures)),
        )

    def pictures_in(self, file: BinaryIO) -> Iterator[Image.Image | None]:
        """Each picture of a file; None for one that cannot be decoded."""
        return self._pictures(self._opened(file))

    def _opened(self, file: BinaryIO) -> Image.Image:
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore"
            )  # Pillow also warns of large images: the size is checked below
            try:
                return Image.open(file, formats=FORMATS)
            except Image.DecompressionBombError as error:
                raise DecompressionBomb(str(error)) from error
            except MemoryError:
                raise
            except Exception as error:  # damaged files raise almost anything in Pillow
                raise ParseError(DAMAGED) from error

    def _pictures(self, image: Image.Image) -> Iterator[Image.Image | None]:
        """Yield the pages, upright and in RGB; None for one that cannot be decoded."""
        last = self.max_pages if image.format == "TIFF" else 1
        for number in range(last):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    image.seek(number)
                    self._check_size(image)
                    yield plain(image)
                except EOFError:
                    return
                except (DecompressionBomb, MemoryError):
                    raise
                except Exception:  # as in _opened
                    yield None

    def _check_size(self, image: Image.Image) -> None:
        width, height = image.size
        if width * height > self.max_pixels:
            raise DecompressionBomb(
                f"The image has {width} × {height} pixels; at most {self.max_pixels} are read."
            )


def plain(image: Image.Image) -> Image.Image:
    """Convert to RGB, rotate by the EXIF data, and put transparent images on white."""
    image.load()
    turned = image
    with suppress(Exception):  # with a broken EXIF block the picture is not rotated
        turned = ImageOps.exif_transpose(image)
    if turned.mode.startswith("I") or turned.mode == "F":
        return _in_eight_bits(turned).convert("RGB")
    if turned.has_transparency_data:
        turned = turned.convert("RGBA")
        return Image.alpha_composite(Image.new("RGBA", turned.size, "white"), turned).convert("RGB")
    return turned.convert("RGB")


def _in_eight_bits(image: Image.Image) -> Image.Image:
    """Scale 16 or 32 bits so that the darkest pixel is black and the lightest white."""
    whole = image if image.mode == "F" else image.convert("I")
    darkest, lightest = (float(end) for end in whole.getextrema())  # type: ignore[arg-type]
    scale = 255 / max(lightest - darkest, 1e-9)
    return whole.convert("F").point(lambda value: value * scale - darkest * scale).convert("L")


def _nothing_read(pages: list[list[Line] | None], pictures: "PictureReader") -> Exception:
    if all(page is None for page in pages):
        return ParseError(DAMAGED)
    what = "The image holds" if len(pages) == 1 else f"The {len(pages)} pages of the image hold"
    return NoText(f"{what} no text: OCR ({pictures.name}) found nothing.")


def _warnings(
    image: Image.Image,
    pages: list[list[Line] | None],
    unread: list[int],
    pictures: "PictureReader",
) -> Iterator[str]:
    numbered = list(enumerate(pages, start=1))
    broken = [number for number, page in numbered if page is None and number not in unread]
    if broken:
        yield f"{counted(broken)} could not be decoded."
    if empty := [number for number, page in numbered if page == []]:
        yield f"{counted(empty)}: OCR ({pictures.name}) found nothing."
    if unread:
        yield f"{counted(unread)} not read: {pictures.stopped}."
    if getattr(image, "is_animated", False) and image.format in ("PNG", "WEBP"):
        yield "The image is animated; only its first frame was read."
