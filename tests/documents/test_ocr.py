"""OCR: the order of what is read, both engines, the ration of time, scans in PDFs, and the API."""

import io
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.conf import LazySettings
from PIL import Image
from pypdf import PdfReader, PdfWriter

from documents.errors import NoText
from documents.extractors.limits import Limits
from documents.extractors.lines import Line, boxed
from documents.extractors.pdf.extractor import PdfExtractor
from documents.ingestion import extraction
from documents.ocr.base import OcrEngine, OcrUnavailable
from documents.ocr.layout import in_reading_order, tilt, upright
from documents.ocr.rapid import RapidOcr
from documents.ocr.reader import PictureReader
from documents.ocr.tesseract import Tesseract
from documents.passages import Extracted

from ..client import Api
from .scripted_ocr import BACKEND, PLENTY, drawn, pictures, saved
from .test_pdf_extractor import changed, make_pdf, page

ROWS = ("The lighthouse keeper counts", "twelve passing ships tonight")


# -- reading order ---------------------------------------------------------------------


def at(text: str, left: float, top: float, *, height: float = 10) -> Line:
    box = (left / 1000, top / 1000, (left + 8 * len(text)) / 1000, (top + height) / 1000)
    line = boxed(text, left, left + 8 * len(text), -top - height, -top)
    return line._replace(box=box, confidence=0.5)


def test_two_columns_are_read_one_after_the_other():
    left = [at(f"the left column has a line {n}", 50, 100 + 15 * n) for n in range(6)]
    right = [at(f"the right column has a line {n}", 400, 103 + 15 * n) for n in range(6)]
    title = at("A title that stands over both of the columns of this page " * 1, 100, 50)
    mixed = [title, *(piece for pair in zip(right, left, strict=True) for piece in pair)]
    assert [line.text for line in in_reading_order(mixed)] == [
        line.text for line in (title, *left, *right)
    ]


def test_a_receipt_is_read_row_by_row():
    names = [at(f"Lamp {n}", 50, 100 + 15 * n) for n in range(6)]
    prices = [at(f"{n}.99", 400, 102 + 15 * n) for n in range(6)]
    lines = in_reading_order([*prices, *names])
    assert [line.text for line in lines] == [f"Lamp {n} {n}.99" for n in range(6)]
    assert lines[0].box == pytest.approx((0.05, 0.1, 0.432, 0.112))
    assert lines[0].confidence == 0.5


def test_letters_of_one_size_have_lines_of_one_height():
    lines = in_reading_order([at("more", 50, 102, height=8), at("Egypt, my", 50, 115, height=12)])
    assert lines[0].height == lines[1].height


def test_a_tilted_page_is_levelled():
    quads = [[(0, y), (1000, y + 50), (999, y + 70), (-1, y + 20)] for y in (0, 30, 60)]
    angle = tilt(quads)
    assert angle == pytest.approx(0.05, abs=0.001)
    tops = [upright(quad, angle)[1] for quad in quads]
    bottoms = [upright(quad, angle)[3] for quad in quads]
    assert bottoms[0] < tops[1] < bottoms[1] < tops[2]


# -- engines -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def rapid() -> RapidOcr:
    return RapidOcr()


def text_of(lines: list[Line]) -> str:
    return " ".join(line.text for line in lines)


def test_the_bundled_engine_reads_and_says_where(rapid: OcrEngine):
    first, second = rapid.read(drawn(*ROWS))
    assert (first.text, second.text) == ROWS
    assert first.confidence is not None
    assert first.box is not None
    assert second.box is not None
    assert 0.8 < first.confidence <= 1
    left, top, right, bottom = first.box
    assert 0.02 < left < 0.07
    assert 0.1 < top < bottom < second.box[3] < 0.75
    assert 0.5 < right < 0.9


@pytest.mark.parametrize("turn", [90, 180, 270])
def test_a_page_that_lies_on_its_side_or_head_is_read_and_its_boxes_fit_it_as_it_came(
    turn: int, rapid: OcrEngine
):
    upright_box = (0.04, 0.15, 0.75, 0.35)  # of the first row, about
    left, top, right, bottom = upright_box
    expected = {
        90: (top, 1 - right, bottom, 1 - left),
        180: (1 - right, 1 - bottom, 1 - left, 1 - top),
        270: (1 - bottom, left, 1 - top, right),
    }[turn]
    lines = rapid.read(drawn(*ROWS).rotate(turn, expand=True))
    assert text_of(lines) == " ".join(ROWS)
    assert lines[0].box == pytest.approx(expected, abs=0.12)


def test_a_strip_too_narrow_to_hold_text_is_no_error(rapid: OcrEngine):
    assert rapid.read(drawn("x", size=(9, 4000))) == []


def test_a_letter_it_is_not_sure_of_is_no_text(rapid: RapidOcr, monkeypatch: pytest.MonkeyPatch):
    for text, sure, kept in (("a", 0.6, 0), ("a", 0.9, 1), ("lamp", 0.6, 1), ("lamp", 0.4, 0)):
        told = SimpleNamespace(txts=(text,), scores=(sure,))
        monkeypatch.setattr(rapid.engine, "recognize_txt", lambda crops, told=told: told)
        assert len(rapid.read(drawn("lamp", size=(300, 300)))) == kept


def test_nothing_is_fetched_from_anywhere(monkeypatch: pytest.MonkeyPatch):
    from rapidocr.utils.download_file import DownloadFile

    def fetched(*args: Any) -> None:
        raise AssertionError("it wants to download a model")

    monkeypatch.setattr(DownloadFile, "run", fetched)
    assert text_of(RapidOcr().read(drawn("Granite tower"))) == "Granite tower"


TABLE = "\n".join(
    [
        "level page_num block_num par_num line_num word_num left top width height conf text",
        "1 1 0 0 0 0 0 0 900 260 -1 ",
        '5 1 1 1 1 1 40 40 100 30 90 "Twelve',
        "5 1 1 1 1 2 150 42 60 30 80 ships",
        "5 1 1 1 2 1 40 100 100 30 70 tonight",
    ]
).replace(" ", "\t")


@pytest.fixture
def fake_tesseract(tmp_path: Path) -> Callable[[str], str]:
    def make(script: str) -> str:
        program = tmp_path / "tesseract"
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
        return str(program)

    return make


def test_tesseracts_table_becomes_lines(fake_tesseract: Callable[[str], str], tmp_path: Path):
    (tmp_path / "table").write_text(TABLE)
    command = fake_tesseract(
        f'echo "$@" > {tmp_path}/asked; cat > {tmp_path}/sent; cat {tmp_path}/table'
    )
    first, second = Tesseract(command=command, languages="deu+eng").read(drawn("Words"))
    assert (first.text, second.text) == ('"Twelve ships', "tonight")
    assert first.confidence == pytest.approx((90 * 7 + 80 * 5) / 12 / 100)
    assert first.box == pytest.approx((40 / 900, 40 / 260, 210 / 900, 72 / 260))
    assert first.top > second.top
    assert (tmp_path / "asked").read_text() == "stdin stdout -l deu+eng --psm 1 tsv\n"
    assert (tmp_path / "sent").read_bytes().startswith(b"\x89PNG")


def test_a_tesseract_that_is_not_there_or_complains_is_said_to(
    fake_tesseract: Callable[[str], str],
):
    with pytest.raises(OcrUnavailable, match="no program 'tesseract-of-mine'"):
        Tesseract(command="tesseract-of-mine")
    broken = Tesseract(command=fake_tesseract("echo 'no language xyz' >&2; exit 1"))
    with pytest.raises(OcrUnavailable, match="ended with 1: no language xyz"):
        broken.read(drawn("Words"))


@pytest.mark.skipif(not shutil.which("tesseract"), reason="Tesseract is not installed")
def test_the_real_tesseract_reads():
    first, second = Tesseract().read(drawn(*ROWS))
    assert (first.text, second.text) == ROWS
    assert first.confidence is not None
    assert first.confidence > 0.8


# -- the ration ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "limits",
    [
        Limits(memory_bytes=2**40, cpu_seconds=0, wall_seconds=10**6),
        Limits(memory_bytes=2**40, cpu_seconds=10**6, wall_seconds=0),
    ],
)
def test_when_time_runs_out_what_was_read_is_kept(limits: Limits):
    reader = pictures(limits=limits)
    assert text_of(reader.read(drawn("Words")) or []) == "Words on page 1."
    assert reader.read(drawn("Words")) is None
    assert "time for OCR" in reader.stopped


def test_blank_pictures_cost_nothing_of_it():
    reader = pictures(max_pages=1)
    blank = Image.new("RGB", (100, 100), (200, 200, 205))
    assert [reader.read(blank), reader.read(blank)] == [[], []]
    assert reader.read(drawn("Words"))
    assert reader.read(blank) == []
    assert reader.read(drawn("Words")) is None


@pytest.mark.parametrize(
    ("backend", "options", "words"),
    [
        ("documents.ocr.rapid.NoSuchEngine", {}, "OCR_BACKEND names nothing"),
        ("nowhere.Engine", {}, "OCR_BACKEND names nothing"),
        ("rapidocr", {}, "OCR_BACKEND names nothing"),
        (BACKEND, {"speed": 9}, "OCR_OPTIONS do not fit scripted"),
    ],
)
def test_settings_that_cannot_work_are_no_fault_of_the_file(
    backend: str, options: dict[str, Any], words: str
):
    reader = PictureReader({"BACKEND": backend, "OPTIONS": options}, max_pages=1, limits=PLENTY)
    assert reader.name
    with pytest.raises(OcrUnavailable, match=words):
        reader.read(drawn("Words"))


# -- scans in PDFs ------------------------------------------------------------------------


def scanned(*images: Image.Image) -> bytes:
    return saved(images[0], "PDF", save_all=True, append_images=images[1:], resolution=100)


def joined(*files: bytes) -> bytes:
    writer = PdfWriter()
    for data in files:
        writer.append(PdfReader(io.BytesIO(data)))
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


def read(data: bytes, **options: Any) -> Extracted:
    return PdfExtractor().with_pictures_read_by(pictures(**options)).extract(data)


TYPED = make_pdf([page("This page was typed and has a text layer.")])


def test_pages_with_text_stay_as_they_are_and_scans_are_read():
    extracted = read(joined(scanned(drawn("x")), TYPED, scanned(drawn("y"))))
    texts = [extracted.text[one.start : one.end] for one in extracted.pages]
    assert texts == [
        "Words on page 1.",
        "This page was typed and has a text layer.",
        "Words on page 2.",
    ]
    assert [one.ocr_confidence for one in extracted.pages] == [0.9, None, 0.9]
    assert [bool(block.attributes) for block in extracted.blocks] == [True, False, True]
    assert extracted.metadata["ocr_pages"] == [1, 3]
    assert extracted.warnings == ()


def test_a_stamp_on_a_scan_does_not_hide_it():
    writer = PdfWriter(clone_from=PdfReader(io.BytesIO(scanned(drawn("x", size=(600, 800))))))
    stamp = PdfReader(io.BytesIO(make_pdf([page("Copy 17", top=300)]))).pages[0]
    writer.pages[0].merge_page(stamp)
    out = io.BytesIO()
    writer.write(out)
    assert PdfExtractor().extract(out.getvalue()).text == "Copy 17"
    assert read(out.getvalue()).text == "Words on page 1."
    short = make_pdf([page("Only this.")])  # little text, but no scan
    assert read(short).text == "Only this."


def test_pages_that_no_time_or_number_was_left_for_are_named():
    data = joined(TYPED, scanned(drawn("a"), drawn("b"), drawn("c")))
    extracted = read(data, max_pages=1)
    assert extracted.metadata["ocr_pages"] == [2]
    assert extracted.warnings == (
        "Pages 3, 4 have no text layer and were not read: OCR ends after 1 pages (OCR_MAX_PAGES).",
    )


def test_scans_without_words_say_what_was_tried():
    data = scanned(drawn("a"), drawn("b"))
    with pytest.raises(NoText, match=r"None of the 2 pages has a text layer; OCR \(scripted\) f"):
        read(data, says="")
    extracted = read(joined(TYPED, data), says="")
    assert extracted.warnings == ("Pages 2, 3 have no text layer; OCR (scripted) found nothing.",)


def test_an_engine_that_is_not_there_costs_no_typed_page():
    extracted = read(joined(TYPED, scanned(drawn("a"))), is_broken=True)
    assert extracted.text.startswith("This page was typed")
    assert extracted.warnings == (
        "Page 2 has no text layer and was not read: There is no such program.",
    )
    with pytest.raises(OcrUnavailable, match="no such program"):
        read(scanned(drawn("a")), is_broken=True)


def test_an_encrypted_file_without_a_password_is_read_too():
    assert read(changed(scanned(drawn("x")), owner_password="owner")).text == "Words on page 1."


# -- through the sandbox worker and the API ------------------------------------------------


def test_a_photograph_is_found_with_its_page_and_box(api: Api, work: Callable[[], int]):
    result = api.upload(("ships.png", saved(drawn(*ROWS), "PNG"))).body["results"][0]
    work()
    document = api.get(f"documents/{result['document_id']}").body
    assert (document["status"], document["error"]) == ("ready", None)
    assert document["source_type"] == "image"
    (hit,) = api.query("lighthouse ships", mode="lexical").body["results"]
    assert (hit["content"], hit["page"], hit["kind"]) == (" ".join(ROWS), 1, "image")
    (box,) = hit["chunk_metadata"]["boxes"]
    assert box == pytest.approx([0.04, 0.17, 0.72, 0.63], abs=0.08)
    assert 0.8 < hit["chunk_metadata"]["ocr_confidence"] <= 1
    (only,) = api.get(f"documents/{result['document_id']}/text").body["pages"]
    assert only["ocr_confidence"] == hit["chunk_metadata"]["ocr_confidence"]


def test_a_scanned_pdf_has_its_page_numbers(api: Api, work: Callable[[], int]):
    data = joined(scanned(drawn("The harbour is closed"), drawn("Granite towers stand")), TYPED)
    document_id = api.upload(("scan.pdf", data)).body["results"][0]["document_id"]
    work()
    (hit,) = api.query("granite", mode="lexical").body["results"]
    assert (hit["content"], hit["page"]) == ("Granite towers stand", 2)
    chunks = api.get(f"documents/{document_id}/chunks").body["results"]
    assert [chunk["kind"] for chunk in chunks] == ["image", "image", "text"]
    assert api.get(f"documents/{document_id}").body["metadata"]["ocr_pages"] == [1, 2]


@pytest.fixture
def set_ocr(settings: LazySettings) -> Iterator[Callable[..., None]]:
    def use(backend: str, **options: Any) -> None:
        settings.OCR = {"BACKEND": backend, "OPTIONS": options}

    yield use
    extraction.shared_sandbox_worker.cache_clear()


def test_the_engine_and_its_options_reach_the_cell(
    api: Api, work: Callable[[], int], set_ocr: Callable[..., None]
):
    set_ocr(BACKEND, says="What the settings say.")
    document_id = api.upload(("a.png", saved(drawn("x"), "PNG"))).body["results"][0]["document_id"]
    work()
    text = api.get(f"documents/{document_id}/text").body["text"]
    assert text == "What the settings say."


@pytest.mark.parametrize(
    ("backend", "options", "code", "words"),
    [
        ("", {}, "no_text", "OCR is switched off"),
        (BACKEND, {"says": ""}, "no_text", r"OCR (scripted) found nothing"),
        (BACKEND, {"is_broken": True}, "ocr_unavailable", "There is no such program"),
    ],
)
def test_a_picture_that_cannot_be_read_fails_and_says_why(
    backend: str,
    options: dict[str, Any],
    code: str,
    words: str,
    api: Api,
    work: Callable[[], int],
    set_ocr: Callable[..., None],
):
    set_ocr(backend, **options)
    document_id = api.upload(("a.png", saved(drawn("x"), "PNG"))).body["results"][0]["document_id"]
    work()
    document = api.get(f"documents/{document_id}").body
    assert (document["status"], document["error"]["code"]) == ("failed", code)
    assert words in document["error"]["message"]


@pytest.mark.parametrize("suffix", [".png", ".jpg", ".jpeg", ".tif", ".tiff", ".webp"])
def test_a_picture_by_another_name_is_refused(suffix: str, api: Api):
    kinds = {"PNG": (".png",), "JPEG": (".jpg", ".jpeg"), "TIFF": (".tif", ".tiff")}
    for kind in ("PNG", "JPEG", "TIFF", "WEBP"):
        if suffix in kinds.get(kind, (".webp",)):
            continue
        answer = api.upload((f"a{suffix}", saved(drawn("x"), kind)))
        assert (answer.status, answer.code) == (415, "type_mismatch")
