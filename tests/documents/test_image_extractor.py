"""Images by example: what of them reaches OCR, and what becomes of the bad ones."""

import io
import struct
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, ImageDraw

from documents.errors import BadFile, DecompressionBomb, EmptyFile, NoText, ParseError
from documents.extractors.images import ImageExtractor, plain
from documents.ocr.base import OcrUnavailable
from documents.passages import Extracted

from .scripted_ocr import ScriptedOcr, drawn, pictures, saved


def read(data: bytes, **options: object) -> Extracted:
    return ImageExtractor().with_pictures_read_by(pictures(**options)).extract(data)  # type: ignore[arg-type]


@pytest.fixture(autouse=True)
def seen(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    sizes: list[tuple[int, int]] = []
    monkeypatch.setattr(ScriptedOcr, "seen", sizes)
    return sizes


def black_square(mode: str) -> Image.Image:
    """A black square in the middle of white, in any of Pillow's modes."""
    image = Image.new("L", (60, 60), 255)
    ImageDraw.Draw(image).rectangle((20, 20, 40, 40), fill=0)
    if mode in ("LA", "RGBA"):
        image = image.convert(mode)
        image.putalpha(255)
        return image
    if mode == "I;16":
        return image.convert("I").point(lambda value: value * 100).convert("I;16")
    return image.convert(mode)


@pytest.mark.parametrize(
    "mode", ["1", "L", "LA", "P", "RGB", "RGBA", "CMYK", "YCbCr", "LAB", "I;16", "I", "F"]
)
def test_every_kind_of_pixel_becomes_plain_colour(mode: str):
    image = black_square(mode)
    result = plain(image).convert("L")
    assert result.size == (60, 60)
    assert result.getpixel((30, 30)) < 60
    assert result.getpixel((5, 5)) > 200


def test_what_is_transparent_is_white():
    image = Image.new("RGBA", (60, 60), (0, 0, 0, 0))
    ImageDraw.Draw(image).rectangle((20, 20, 40, 40), fill=(0, 0, 0, 255))
    palette = Image.open(io.BytesIO(saved(image.quantize(), "PNG")))
    for each in (image, palette):
        result = plain(each)
        assert result.getpixel((5, 5)) == (255, 255, 255)
        assert result.getpixel((30, 30)) == (0, 0, 0)


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "TIFF", "WEBP"])
def test_a_picture_is_one_page_with_boxes_and_confidence(kind: str):
    extracted = read(saved(drawn("Any words"), kind), says="The first line\nand the second.")
    assert extracted.text == "The first line and the second."
    (page,) = extracted.pages
    assert (page.number, page.start, page.end, page.ocr_confidence) == (1, 0, 30, 0.9)
    (block,) = extracted.blocks
    assert block.attributes == {"boxes": [[0.1, 0.1, 0.9, 0.3]], "ocr_confidence": 0.9}
    assert extracted.metadata == {"page_count": 1, "ocr_engine": "scripted"}
    assert extracted.warnings == ()


def test_the_turn_that_a_camera_noted_is_made(seen: list[tuple[int, int]]):
    exif = Image.Exif()
    exif[0x0112] = 6  # turn it by 90 degrees
    read(saved(drawn("Words", size=(300, 200)), "JPEG", exif=exif))
    assert seen == [(200, 300)]


def test_pages_of_a_tiff_keep_their_numbers():
    pages = [drawn("One"), Image.new("RGB", (300, 200), "white"), drawn("Three")]
    data = saved(pages[0], "TIFF", save_all=True, append_images=pages[1:])
    extracted = read(data)
    assert extracted.text == "Words on page 1.\n\n\n\nWords on page 2."
    assert [page.number for page in extracted.pages] == [1, 2, 3]
    assert extracted.pages[1].ocr_confidence is None
    for page in extracted.pages:
        assert extracted.text[page.start : page.end].startswith("Words") or page.number == 2
    assert extracted.warnings == ("Page 2: OCR (scripted) found nothing.",)


def test_pages_beyond_the_limit_are_named():
    pages = [drawn("Words")] * 3
    data = saved(pages[0], "TIFF", save_all=True, append_images=pages[1:])
    extracted = read(data, max_pages=1)
    assert len(extracted.pages) == 3
    assert extracted.warnings == ("Pages 2, 3 not read: OCR ends after 1 pages (OCR_MAX_PAGES).",)


def test_of_an_animation_the_first_frame_is_read(seen: list[tuple[int, int]]):
    frames = [drawn("One"), drawn("Two"), drawn("Three")]
    for kind in ("WEBP", "PNG"):
        data = saved(frames[0], kind, save_all=True, append_images=frames[1:])
        assert read(data).warnings == ("The image is animated; only its first frame was read.",)
    assert len(seen) == 2


@pytest.mark.parametrize("size", [(1, 1), (5, 4000), (300, 200)])
def test_where_there_is_nothing_to_read_it_says_what_was_tried(
    size: tuple[int, int], seen: list[tuple[int, int]]
):
    with pytest.raises(NoText, match=r"holds no text: OCR \(scripted\) found nothing"):
        read(saved(Image.new("RGB", size, "white"), "PNG"))
    assert seen == []  # no engine is troubled with a blank picture


def test_an_engine_that_finds_nothing_ends_the_same_way():
    with pytest.raises(NoText, match="found nothing"):
        read(saved(drawn("Words"), "PNG"), says="")


def test_without_ocr_that_is_what_it_says():
    with pytest.raises(NoText, match="OCR is switched off"):
        ImageExtractor().extract(saved(drawn("Words"), "PNG"))


def test_an_engine_that_is_not_there_is_no_fault_of_the_file():
    with pytest.raises(OcrUnavailable, match="no such program"):
        read(saved(drawn("Words"), "PNG"), is_broken=True)


def png_of(width: int, height: int) -> bytes:
    """A few bytes that say they are very large."""

    def part(name: bytes, body: bytes) -> bytes:
        return (
            struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))
        )

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    body = part(b"IHDR", head) + part(b"IDAT", zlib.compress(b"\x00" * 1000)) + part(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + body


@pytest.mark.parametrize("side", [11_000, 50_000, 2**30])
def test_a_bomb_is_told_by_its_size_before_it_goes_off(side: int):
    with pytest.raises(DecompressionBomb):
        read(png_of(side, side))


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "TIFF", "WEBP"])
def test_what_is_cut_short_or_no_image_is_a_parse_error(kind: str):
    data = saved(drawn("Some words", "and some more"), kind)
    for damaged in (data[: len(data) // 2], data[:30], data[:12] + b"junk" * 50):
        with pytest.raises(ParseError, match="damaged"):
            read(damaged)


def test_an_empty_file_is_said_to_be_empty():
    with pytest.raises(EmptyFile):
        read(b"")


@settings(max_examples=60, deadline=None)
@given(
    kind=st.sampled_from(["PNG", "JPEG", "TIFF", "WEBP"]),
    flips=st.lists(st.tuples(st.integers(0, 3000), st.integers(0, 255)), min_size=1, max_size=20),
)
def test_damaged_bytes_never_end_in_another_error(kind: str, flips: list[tuple[int, int]]):
    damaged = bytearray(saved(drawn("Words", size=(200, 90)), kind))
    for place, value in flips:
        damaged[place % len(damaged)] = value
    try:
        read(bytes(damaged))
    except BadFile:
        return
