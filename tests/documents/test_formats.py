"""Every format from upload to citation: what is found can be checked against the text."""

import io
from collections.abc import Callable
from typing import Any

import docx
import pptx
import pytest

from documents.intake.media_types import BY_SUFFIX

from ..client import Api
from .test_epub_extractor import built as make_epub
from .test_pdf_extractor import make_pdf, page

CSV = "lamp,lumens\n" + "".join(f"Model {n},{n * 10}\n" for n in range(1, 120))
HTML = """<html><head><title>Harbour</title></head><body><article><h1 id="top">Harbour</h1>
<p>The harbour master opens the gates at six in the morning, every day of the year.</p>
<h2 id="fees">Fees</h2><p>Mooring a boat costs twelve crowns for every night it stays here.</p>
</article></body></html>"""
VTT = "WEBVTT\n\n00:01.000 --> 00:04.000\nThe granite tower\n\n00:04.500 --> 00:06.000\nstands.\n"
EML = "From: a@example.com\nSubject: Granite\nDate: Mon, 06 Jan 2025 10:00:00 +0000\n\nThe tower.\n"


def word() -> bytes:
    document = docx.Document()
    document.add_heading("Tower", 1)
    document.add_paragraph("The tower is made of granite.")
    out = io.BytesIO()
    document.save(out)
    return out.getvalue()


def slides() -> bytes:
    deck = pptx.Presentation()
    for number in (1, 2):
        slide = deck.slides.add_slide(deck.slide_layouts[1])
        slide.shapes.title.text = f"Part {number}"
        slide.placeholders[1].text = f"Stone {number} is granite."
    out = io.BytesIO()
    deck.save(out)
    return out.getvalue()


SAMPLES: dict[str, tuple[str | bytes, str, dict[str, Any]]] = {
    "a.pdf": (make_pdf([page("Sand."), page("The tower is made of granite.")]), "granite", {}),
    "a.docx": (word(), "granite", {"heading_path": ["Tower"]}),
    "a.pptx": (slides(), "stone 2", {"heading_path": ["Part 2"]}),
    "a.csv": (CSV, "Model 117", {}),
    "a.tsv": (CSV.replace(",", "\t"), "Model 117", {}),
    "a.html": (HTML, "mooring fees", {"url_fragment": "fees"}),
    "a.json": ('{"tower": {"stone": "granite"}}', "granite", {}),
    "a.jsonl": ('{"stone": "sand"}\n{"stone": "granite"}\n', "granite", {}),
    "a.rst": ("Tower\n=====\n\nMade of granite.\n", "granite", {"heading_path": ["Tower"]}),
    "a.vtt": (VTT, "granite", {"time": [1.0, 6.0]}),
    "a.srt": ("1\n00:00:01,000 --> 00:00:04,000\nGranite tower.\n", "granite", {}),
    "a.eml": (EML, "tower", {}),
    "a.epub": (make_epub({}), "water comes back", {"file": "OEBPS/text/two b.xhtml"}),
    "a.txt": ("Made of granite.".encode("utf-16-le"), "granite", {}),
}


@pytest.mark.parametrize("name", SAMPLES)
def test_a_file_of_each_kind_is_found_and_its_span_slices_back(
    name: str, api: Api, work: Callable[[], int]
):
    data, question, expected = SAMPLES[name]
    document_id = api.upload((name, data)).body["results"][0]["document_id"]
    work()
    document = api.get(f"documents/{document_id}").body
    assert (document["status"], document["error"]) == ("ready", None)
    hit = api.query(question, mode="lexical").body["results"][0]
    text = api.get(f"documents/{document_id}/text").body["text"]
    assert text[hit["span"]["start"] : hit["span"]["end"]] == hit["content"]
    assert {key: hit["chunk_metadata"].get(key) for key in expected} == expected


def test_pages_and_slides_are_on_every_chunk(api: Api, work: Callable[[], int]):
    for name, question, number in (("a.pdf", "granite", 2), ("a.pptx", "stone 1", 1)):
        document_id = api.upload((name, SAMPLES[name][0])).body["results"][0]["document_id"]
        work()
        filters = {"document_ids": [document_id]}
        body = api.query(question, mode="lexical", filters=filters).body
        assert body["results"][0]["page"] == body["citations"][0]["page"] == number
        assert f"p. {number}" in body["context"]["text"]
        pages = api.get(f"documents/{document_id}/text").body["pages"]
        assert [each["number"] for each in pages] == [1, 2]


def test_every_chunk_of_a_table_has_its_header_and_says_its_rows(api: Api, work: Callable[[], int]):
    document_id = api.upload(("lamps.csv", CSV)).body["results"][0]["document_id"]
    work()
    chunks = api.get(f"documents/{document_id}/chunks?limit=200").body["results"]
    tables = [chunk for chunk in chunks if chunk["kind"] == "table"]
    assert len(tables) > 2
    for chunk in tables:
        assert "| lamp | lumens |" in chunk["metadata"].get("table_header", chunk["content"])
    assert tables[0]["metadata"]["rows"][0] == 1
    assert tables[-1]["metadata"]["rows"][1] == 119


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.pdf", "just text"),
        ("a.docx", "just text"),
        ("a.md", make_pdf([page("x")])),
        ("a.html", b"\x89PNG\r\n\x1a\n\x00"),
        ("a.csv", word()),
    ],
)
def test_a_name_that_lies_about_the_bytes_is_refused(name: str, data: str | bytes, api: Api):
    answer = api.upload((name, data))
    assert (answer.status, answer.code) == (415, "type_mismatch")


def test_a_broken_file_fails_alone_with_its_code(api: Api, work: Callable[[], int]):
    broken = make_pdf([page("The tower is made of granite.")])[:200]
    results = api.upload(("good.md", "# Good\n\nText."), ("bad.pdf", broken)).body["results"]
    work()
    good, bad = (api.get(f"documents/{each['document_id']}").body for each in results)
    assert good["status"] == "ready"
    assert (bad["status"], bad["error"]["code"]) == ("failed", "parse_error")


def test_every_suffix_that_is_taken_has_a_reader():
    from documents.extractors import extractor_for

    assert {extractor_for(media_type) for media_type in BY_SUFFIX.values()}
