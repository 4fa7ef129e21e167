"""Pages as pictures: drawn in the sandbox, with the passage's place, through the signed link."""

import io
from base64 import b64decode
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.files.storage import default_storage
from django.test import Client
from PIL import Image

from documents.extractors.drawing import pages
from documents.extractors.drawing.words import find, occurrences_before
from documents.models import Document, DocumentVersion
from documents.pages import drawing
from documents.pages.links import passage_url
from ragsite.database.tenancy import namespace, operator

from ...client import Api
from ..scripted_ocr import drawn, saved
from ..test_pdf_extractor import make_pdf

LEFT, SIZE = 72.0, 12.0
FIRST = [(LEFT, 760.0, SIZE, "The harbour has twelve lights."), (LEFT, 700.0, SIZE, "Boats rest.")]
SECOND = [
    (LEFT, 760.0, SIZE, "Granite towers stand on the hill."),
    (LEFT, 400.0, SIZE, "They were built in 1840 by masons"),
    (LEFT, 385.0, SIZE, "who came from the north."),
]
QUOTE = "They were built in 1840 by masons who came from the north."


@pytest.fixture
def document(api: Api, work: Callable[[], int]) -> Document:
    uploaded = api.upload(("towers.pdf", make_pdf([FIRST, SECOND])))
    work()
    with operator():
        return Document.objects.get(pk=uploaded.body["results"][0]["document_id"])


def path_of(document: Document) -> str:
    return passage_url(namespace_id=document.namespace_id, document_id=document.pk, version=1)


def span_of(document: Document, quote: str) -> tuple[int, int]:
    with namespace(document.namespace_id):
        text = DocumentVersion.objects.get(document=document).text
    return text.index(quote), text.index(quote) + len(quote)


def test_a_page_is_a_bounded_picture_that_only_this_browser_keeps(
    client: Client, document: Document
):
    page = client.get(f"{path_of(document)}/picture?page=2")
    assert (page.status_code, page.headers["Content-Type"]) == (200, "image/jpeg")
    assert page.headers["Cache-Control"].startswith("private")
    assert page.headers["Referrer-Policy"] == "no-referrer"
    picture = Image.open(io.BytesIO(page.content))
    assert max(picture.size) == drawing.SIDES["normal"]
    assert picture.convert("L").getextrema()[0] < 64  # something is written on it
    large = client.get(f"{path_of(document)}/picture?page=2&side=large")
    assert max(Image.open(io.BytesIO(large.content)).size) == drawing.SIDES["large"]


def test_the_passage_is_marked_where_it_stands_on_the_page(client: Client, document: Document):
    start, end = span_of(document, QUOTE)
    found = client.get(f"{path_of(document)}/marks?page=2&start={start}&end={end}").json()
    first, second = found["marks"]  # one for each line
    assert first[0] == pytest.approx(LEFT / 595, abs=0.01)
    assert first[1] < 1 - 400 / 842 < first[3] + 0.01
    assert second[1] > first[1]
    assert all(0 <= share <= 1 for box in found["marks"] for share in box)
    elsewhere = client.get(f"{path_of(document)}/marks?page=1&start={start}&end={end}").json()
    assert elsewhere == {"marks": []}


def test_the_page_of_the_passage_is_shown_with_its_neighbours(client: Client, document: Document):
    start, end = span_of(document, QUOTE)
    html = client.get(f"{path_of(document)}?start={start}&end={end}").content.decode()
    assert f"{path_of(document)}/picture?page=2" in html
    assert "Page 2 of 2" in html
    assert 'rel="prev"' in html
    assert 'rel="next"' not in html
    other = client.get(f"{path_of(document)}?start={start}&end={end}&page=1").content.decode()
    assert "Page 1 of 2" in other
    assert "twelve lights" in other


@pytest.mark.parametrize(
    ("query", "status"),
    [("page=3", 404), ("page=0", 422), ("page=x", 422), ("", 422), ("page=1&side=9", 422)],
)
def test_pages_that_are_not_there_are_refused_in_the_envelope(
    client: Client, document: Document, query: str, status: int
):
    refused = client.get(f"{path_of(document)}/picture?{query}")
    assert refused.status_code == status
    assert refused.json()["error"]["message"]


def test_a_changed_link_shows_no_picture(client: Client, document: Document):
    for part in ("picture?page=1", "marks?page=1", "original"):
        assert client.get(f"{path_of(document)}x/{part}").status_code == 404


@pytest.mark.parametrize(
    "damage", [b"", b"%PDF-1.7 nonsense", b"%PDF-1.4\n" + b"<<" * 20_000, b"\x89PNG"]
)
def test_an_original_that_cannot_be_drawn_is_said_to_be_so(
    client: Client, document: Document, damage: bytes
):
    with namespace(document.namespace_id):
        version = DocumentVersion.objects.get(document=document)
    with default_storage.open(version.storage_key, "wb") as stored:
        stored.write(damage)
    refused = client.get(f"{path_of(document)}/picture?page=1")
    assert refused.status_code == 422
    assert refused.json()["error"]["message"].startswith("This page cannot be shown.")
    assert client.get(path_of(document)).status_code == 200  # the text is there all the same


def test_a_page_that_takes_too_long_is_given_up(
    client: Client, document: Document, monkeypatch: Any
):
    monkeypatch.setattr(drawing, "LIMITS", {**drawing.LIMITS, "wall_seconds": 0.001})
    drawing._worker.cache_clear()
    try:
        refused = client.get(f"{path_of(document)}/picture?page=1")
    finally:
        drawing._worker().close()
        drawing._worker.cache_clear()
    assert refused.status_code == 422
    assert "too long" in refused.json()["error"]["message"]


def test_images_are_shown_and_their_chunks_boxed(client: Client, api: Api, work: Callable[[], int]):
    photograph = saved(drawn("Granite towers stand", "on the northern hill"), "PNG")
    uploaded = api.upload(("towers.png", photograph)).body["results"][0]
    work()
    with operator():
        document = Document.objects.get(pk=uploaded["document_id"])
    assert document.status == "ready", document.error_message
    shown = client.get(f"{path_of(document)}/picture?page=1")
    assert Image.open(io.BytesIO(shown.content)).size == (900, 260)
    start, end = span_of(document, "Granite towers")
    marks = client.get(f"{path_of(document)}/marks?page=1&start={start}&end={end}").json()["marks"]
    (chunk,) = api.get(f"documents/{document.pk}/chunks").body["results"]
    assert marks == chunk["metadata"]["boxes"]
    assert len(marks) == 1


def test_the_original_is_for_people_who_are_signed_in(
    client: Client, document: Document, person: User
):
    address = f"{path_of(document)}/original"
    assert client.get(address).status_code == 401
    with operator():
        client.force_login(person)
    download = client.get(address)
    assert download.status_code == 200
    assert download.headers["Content-Disposition"].startswith("attachment")
    assert "original" in client.get(path_of(document)).content.decode()


def drawn_directly(data: bytes, **wanted: Any) -> dict[str, Any]:
    return pages.draw(io.BytesIO(data), "application/pdf", pages.Drawing(**wanted))


def test_the_size_of_a_page_does_not_decide_the_size_of_its_picture():
    for box in (b"[0 0 14400 14400]", b"[0 0 1 14000]", b"[0 0 2 2]"):
        data = make_pdf([FIRST]).replace(b"[0 0 595 842]", box)
        picture = b64decode(drawn_directly(data, page=1, side=9000)["picture"])
        width, height = Image.open(io.BytesIO(picture)).size
        assert max(width, height) <= pages.MAX_SIDE


def test_marks_follow_the_page_when_it_is_turned():
    turned = make_pdf([FIRST]).replace(b"[0 0 595 842]", b"[0 0 595 842] /Rotate 90")
    (upright,) = drawn_directly(make_pdf([FIRST]), page=1, passage="Boats rest.")["marks"]
    (on_its_side,) = drawn_directly(turned, page=1, passage="Boats rest.")["marks"]
    left, top, right, bottom = upright
    assert on_its_side == pytest.approx((1 - bottom, left, 1 - top, right), abs=0.002)


@pytest.mark.parametrize(
    ("text", "passage", "found"),
    [
        ("The inter-\nnational ﬁle.", "international file", ["inter-\nnational ﬁle"]),
        ("One two. One two.", "One two", ["One two"]),
        ("Nothing of the kind here.", "Something else entirely, as it seems", []),
        ("", "words", []),
        ("words", "…", []),
    ],
)
def test_passages_are_found_by_their_letters(text: str, passage: str, found: list[str]):
    assert [text[start:end] for start, end in find(text, passage)] == found


def test_of_several_occurrences_the_one_that_is_meant_is_found():
    text = "Lamp: 3 years. Battery: 2 years. Lamp: 3 years."
    skip = occurrences_before(text[:33], "Lamp: 3 years")
    assert find(text, "Lamp: 3 years", skip=skip) == [(33, 46)]


def test_an_interrupted_passage_is_found_piece_by_piece():
    text = "The keeper of the lamp climbs FOOTER 12 Harbour gazette every night to light the wick."
    passage = "The keeper of the lamp climbs every night to light the wick."
    pieces = [text[start:end] for start, end in find(text, passage)]
    assert pieces == ["The keeper of the lamp climbs", "every night to light the wick"]
