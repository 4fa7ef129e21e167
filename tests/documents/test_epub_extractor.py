"""EPUB: chapters in reading order, from books built here."""

import io
import zipfile

import pytest

from documents.errors import (
    DecompressionBomb,
    EmptyFile,
    Encrypted,
    NoText,
    ParseError,
    XmlForbidden,
)
from documents.extractors.html.epub import EpubExtractor
from documents.passages import Extracted
from tests.documents.test_html_extractor import assert_blocks_are_exact, of_kind

CONTAINER = """<?xml version="1.0"?><container version="1.0"
 xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>
 <rootfile full-path="OEBPS/book.opf" media-type="application/oebps-package+xml"/></rootfiles>
</container>"""
PACKAGE = """<?xml version="1.0"?><package xmlns="http://www.idpf.org/2007/opf" version="3.0">
<metadata xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>The Tide</dc:title>
<dc:creator>Ada Byron</dc:creator><dc:creator>Mary Shelley</dc:creator>
<dc:language>en</dc:language></metadata>
<manifest>
<item id="toc" href="nav.xhtml" media-type="application/xhtml+xml" properties="nav"/>
<item id="two" href="text/two%20b.xhtml" media-type="application/xhtml+xml"/>
<item id="one" href="text/one.xhtml" media-type="application/xhtml+xml"/>
<item id="art" href="art.png" media-type="image/png"/></manifest>
<spine><itemref idref="toc"/><itemref idref="one"/><itemref idref="two"/><itemref idref="two"/>
<itemref idref="art"/><itemref idref="nowhere"/></spine></package>"""
NAV = """<html xmlns="http://www.w3.org/1999/xhtml"><body><nav><ol>
<li><a href="text/one.xhtml">Named in the contents</a></li>
<li><a href="text/two%20b.xhtml#x">Second, by the contents</a></li></ol></nav></body></html>"""
ONE = """<?xml version="1.0" encoding="utf-8"?><!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.1//EN"
 "http://www.w3.org/TR/xhtml11/DTD/xhtml11.dtd">
<html xmlns="http://www.w3.org/1999/xhtml"><head><title/><script src="x.js"/></head><body>
<h1 id="c1">Ebb</h1><p>Water&nbsp;goes &amp; goes&mdash;away.<a id="here"/> It does.</p>
<table><tr><th>Hour</th><th>Metres</th></tr><tr><td>1</td><td>2</td></tr></table></body></html>"""
TWO = "<html><body><p>Water comes<br>back.<p>Not closed</body></html>"
BOOK = {
    "mimetype": "application/epub+zip",
    "META-INF/container.xml": CONTAINER,
    "OEBPS/book.opf": PACKAGE,
    "OEBPS/nav.xhtml": NAV,
    "OEBPS/text/one.xhtml": ONE,
    "OEBPS/text/two b.xhtml": TWO,
    "OEBPS/art.png": "not a picture",
}


def extract(**changed: str | bytes | None) -> Extracted:
    """The book with members changed by the end of their names; None takes one out."""
    return EpubExtractor().extract(built(changed))


def built(changed: dict[str, str | bytes | None]) -> bytes:
    buffer = io.BytesIO()
    members: dict[str, str | bytes | None] = {**BOOK, **changed}
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            if content is not None:
                archive.writestr(name, content)
    return buffer.getvalue()


def test_chapters_come_in_the_order_of_the_spine():
    book = extract()
    assert_blocks_are_exact(book)
    assert book.text.startswith("# Ebb\n\nWater goes & goes—away. It does.\n\n| Hour | Metres |")
    assert book.text.endswith("# Second, by the contents\n\nWater comes\nback.\n\nNot closed")
    assert of_kind(book, "table") == ["| Hour | Metres |\n| --- | --- |\n| 1 | 2 |"]


def test_headings_lead_back_to_their_file_and_place():
    headings = [block for block in extract().blocks if block.kind == "heading"]
    assert [dict(block.attributes) for block in headings] == [
        {"file": "OEBPS/text/one.xhtml", "url_fragment": "c1"},
        {"file": "OEBPS/text/two b.xhtml"},
    ]


def test_the_book_says_what_it_is():
    book = extract()
    assert book.title == "The Tide"
    assert book.metadata == {"author": "Ada Byron, Mary Shelley", "language": "en"}


def test_a_missing_chapter_is_a_warning():
    book = extract(**{"OEBPS/text/one.xhtml": None})
    assert "one.xhtml" in book.warnings[0]
    assert "Water comes" in book.text


@pytest.mark.parametrize(
    ("changed", "error"),
    [
        ({"META-INF/container.xml": None}, ParseError),
        ({"META-INF/container.xml": "<container/>"}, ParseError),
        ({"META-INF/container.xml": CONTAINER.replace("book.opf", "../../../etc/x")}, ParseError),
        ({"OEBPS/book.opf": "<package>"}, ParseError),
        ({"OEBPS/book.opf": "<package/>"}, NoText),
        ({"OEBPS/book.opf": '<!DOCTYPE p [<!ENTITY a "b">]><package>&a;</package>'}, XmlForbidden),
        ({"OEBPS/text/one.xhtml": '<!DOCTYPE h [<!ENTITY a "b">]><html>&a;</html>'}, XmlForbidden),
        ({"OEBPS/text/one.xhtml": b"x" * 5_000_000}, DecompressionBomb),
    ],
)
def test_bad_books_are_refused_each_with_its_code(changed, error):
    with pytest.raises(error):
        extract(**changed)


def test_protected_chapters_are_called_encrypted():
    reference = '<enc><CipherReference URI="OEBPS/text/{}"/></enc>'
    listed = f"<e>{reference.format('one.xhtml')}{reference.format('two%20b.xhtml')}</e>"
    with pytest.raises(Encrypted):
        extract(**{"META-INF/encryption.xml": listed})


def test_what_is_no_archive_is_refused():
    with pytest.raises(EmptyFile):
        EpubExtractor().extract(b"")
    for data in (b"hello", built({})[:-40]):
        with pytest.raises(ParseError):
            EpubExtractor().extract(data)
