"""DOCX: order, headings, lists, tables, tracked changes, footnotes, properties."""

import io
import zipfile
from datetime import datetime

import pytest
from docx import Document
from docx.oxml import parse_xml
from docx.oxml.ns import nsdecls

from documents.errors import EmptyFile, Encrypted, NoText, ParseError
from documents.extractors.office.word import WordExtractor
from tests.documents.test_html_extractor import assert_blocks_are_exact


def saved(document):
    file = io.BytesIO()
    document.save(file)
    return file.getvalue()


def extract(document):
    extracted = WordExtractor().extract(saved(document))
    assert_blocks_are_exact(extracted)
    return extracted


def shown(extracted):
    return [
        (block.kind, block.level, extracted.text[block.start : block.end])
        for block in extracted.blocks
    ]


def test_the_body_in_its_order():
    document = Document()
    document.add_heading("Report", 0)
    document.add_heading("Findings", 2)
    document.add_paragraph("First words.")
    document.add_paragraph("one", style="List Bullet")
    document.add_paragraph("deeper", style="List Bullet 2")
    document.add_paragraph("two", style="List Bullet")
    document.add_paragraph("Between.")
    document.add_paragraph("first", style="List Number")
    document.add_paragraph("second", style="List Number")
    table = document.add_table(rows=2, cols=2)
    for cell, text in zip(table._cells, ["name", "age", "Ann", "31"], strict=True):
        cell.text = text
    document.add_paragraph("Last words.")
    assert shown(extract(document)) == [
        ("heading", 1, "Report"),
        ("heading", 2, "Findings"),
        ("text", 0, "First words."),
        ("list", 0, "- one\n  - deeper\n- two"),
        ("text", 0, "Between."),
        ("list", 0, "1. first\n2. second"),
        ("table", 0, "| name | age |\n| --- | --- |\n| Ann | 31 |"),
        ("text", 0, "Last words."),
    ]


def test_title_author_and_date_come_from_the_properties():
    document = Document()
    document.add_heading("Inside", 1)
    properties = document.core_properties
    properties.title, properties.author = "Yearly report", "Ann"
    properties.created = datetime(2024, 1, 2)
    extracted = extract(document)
    assert extracted.title == "Yearly report"
    assert extracted.metadata["author"] == "Ann"
    assert extracted.metadata["created"].startswith("2024-01-02")


def test_a_default_title_gives_way_to_the_first_heading():
    document = Document()
    document.core_properties.title = "Word Document"
    document.add_heading("Inside", 1)
    assert extract(document).title == "Inside"


def test_an_outline_level_makes_a_heading():
    document = Document()
    properties = document.add_paragraph("Scope")._p.get_or_add_pPr()
    properties.append(parse_xml(f'<w:outlineLvl {nsdecls("w")} w:val="2"/>'))
    assert shown(extract(document)) == [("heading", 3, "Scope")]


def test_insertions_and_links_are_kept_and_deletions_left_out():
    document = Document()
    paragraph = document.add_paragraph("Keep ")._p
    for xml in (
        "<w:del {}><w:r><w:delText>gone</w:delText></w:r></w:del>",
        "<w:ins {}><w:r><w:t>new </w:t></w:r></w:ins>",
        "<w:hyperlink {}><w:r><w:t>link</w:t></w:r></w:hyperlink>",
    ):
        paragraph.append(parse_xml(xml.format(nsdecls("w"))))
    assert extract(document).text == "Keep new link"


def test_text_in_content_controls_is_read():
    document = Document()
    control = (
        "<w:sdt {}><w:sdtContent><w:p><w:r><w:t>field</w:t></w:r></w:p></w:sdtContent></w:sdt>"
    )
    document.element.body.insert(0, parse_xml(control.format(nsdecls("w"))))
    assert extract(document).text == "field"


def test_merged_cells_and_tables_in_tables():
    document = Document()
    table = document.add_table(rows=3, cols=2)
    for cell, text in zip(table._cells, ["k", "v", "a", "1", "", "2"], strict=True):
        cell.text = text
    table.cell(1, 0).merge(table.cell(2, 0))
    inner = table.cell(2, 1).add_table(rows=1, cols=2)
    inner.cell(0, 0).text, inner.cell(0, 1).text = "x", "y"
    assert extract(document).text == "| k | v |\n| --- | --- |\n| a | 1 |\n| a | 2 x; y |"


def test_a_table_of_one_cell_is_a_frame():
    document = Document()
    document.add_table(rows=1, cols=1).cell(0, 0).paragraphs[0].add_run("Framed | words")
    assert shown(extract(document)) == [("text", 0, "Framed | words")]


def test_a_title_row_above_a_table_is_not_lost():
    document = Document()
    table = document.add_table(rows=3, cols=3)
    words = ["Team list", "", "", "name", "role", "town", "Ann", "lead", "Oslo"]
    for cell, text in zip(table._cells, words, strict=True):
        cell.text = text
    assert extract(document).text.startswith("Team list\n\n| name | role | town |")


def test_long_tables_repeat_their_header():
    document = Document()
    table = document.add_table(rows=0, cols=2)
    for number in range(60):
        row = table.add_row()
        row.cells[0].text, row.cells[1].text = f"key {number}", "some words of a value"
    extracted = extract(document)
    assert len(extracted.blocks) > 2
    assert all(extracted.text[block.start :].startswith("| key 0 |") for block in extracted.blocks)


def test_footnotes_stand_at_the_end():
    document = Document()
    run = document.add_paragraph("Claim")._p
    run.append(parse_xml(f'<w:r {nsdecls("w")}><w:footnoteReference w:id="2"/></w:r>'))
    data = saved(document)
    notes = (
        f"<w:footnotes {nsdecls('w')}><w:footnote w:id='2'><w:p><w:r><w:t>Source.</w:t></w:r></w:p>"
        "</w:footnote><w:footnote w:id='9'><w:p><w:r><w:t>unused</w:t></w:r></w:p></w:footnote>"
        "</w:footnotes>"
    )
    relation = (
        '<Relationship Id="rId99" Target="footnotes.xml" Type="http://schemas.openxmlformats.org/'
        'officeDocument/2006/relationships/footnotes"/></Relationships>'
    )
    changed = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(changed, "w") as new:
        for name in old.namelist():
            content = old.read(name).decode("latin-1")
            if name == "word/_rels/document.xml.rels":
                content = content.replace("</Relationships>", relation)
            new.writestr(name, content.encode("latin-1"))
        new.writestr("word/footnotes.xml", notes)
    assert WordExtractor().extract(changed.getvalue()).text == "Claim[^2]\n\n[^2]: Source."


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (b"", EmptyFile),
        (b"hello", ParseError),
        (b"PK\x03\x04 not really", ParseError),
        (saved(Document()), NoText),
        (saved(Document())[:-3000], ParseError),
        (bytes.fromhex("d0cf11e0a1b11ae1") + b"\0" * 600, Encrypted),
        (b"\xd0\xcf\x11\xe0" + "WordDocument".encode("utf-16-le"), ParseError),
    ],
)
def test_what_cannot_be_read(data, error):
    with pytest.raises(error):
        WordExtractor().extract(data)


def test_a_zip_that_is_no_document_is_a_parse_error():
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("hello.xml", "<hello/>")
    with pytest.raises(ParseError, match="Word document is damaged"):
        WordExtractor().extract(file.getvalue())
