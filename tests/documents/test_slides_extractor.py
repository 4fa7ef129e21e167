"""PPTX: slides as pages, reading order, tables, charts, groups, notes."""

import io

import pytest
from pptx import Presentation
from pptx.chart.data import CategoryChartData
from pptx.enum.chart import XL_CHART_TYPE
from pptx.util import Cm

from documents.errors import EmptyFile, Encrypted, NoText, ParseError
from documents.extractors.office.slides import SlidesExtractor
from tests.documents.test_html_extractor import assert_blocks_are_exact

TITLED, TITLE_ONLY, BLANK = 1, 5, 6  # layouts of the default template


def saved(deck):
    file = io.BytesIO()
    deck.save(file)
    return file.getvalue()


def new_slide(deck, layout, title=""):
    slide = deck.slides.add_slide(deck.slide_layouts[layout])
    if title:
        slide.shapes.title.text = title
    return slide


def add_text(shapes, text, left, top):
    shapes.add_textbox(Cm(left), Cm(top), Cm(3), Cm(1)).text_frame.text = text


def extract(deck):
    extracted = SlidesExtractor().extract(saved(deck))
    assert_blocks_are_exact(extracted)
    return extracted


def page_texts(extracted):
    return {page.number: extracted.text[page.start : page.end] for page in extracted.pages}


def test_slides_are_pages_with_their_titles_as_headings():
    deck = Presentation()
    slide = new_slide(deck, TITLED, "Plans")
    frame = slide.placeholders[1].text_frame
    frame.text = "First"
    inner = frame.add_paragraph()
    inner.text, inner.level = "Detail", 1
    new_slide(deck, BLANK)
    add_text(new_slide(deck, BLANK).shapes, "Only words", 1, 1)
    extracted = extract(deck)
    assert page_texts(extracted) == {1: "Plans\n\n- First\n  - Detail", 3: "Slide 3\n\nOnly words"}
    assert [block.kind for block in extracted.blocks] == ["heading", "list", "heading", "text"]
    assert extracted.title == "Plans"


def test_shapes_are_read_line_by_line_from_left_to_right():
    deck = Presentation()
    slide = new_slide(deck, TITLE_ONLY, "Map")
    add_text(slide.shapes, "lower", 1, 12)
    add_text(slide.shapes, "right", 10, 6)
    add_text(slide.shapes, "left", 1, 6.2)
    assert extract(deck).text == "Map\n\nleft\n\nright\n\nlower"


def test_groups_tables_and_notes():
    deck = Presentation()
    slide = new_slide(deck, TITLE_ONLY, "Data")
    group = slide.shapes.add_group_shape()
    add_text(group.shapes.add_group_shape().shapes, "inside", 1, 5)
    table = slide.shapes.add_table(2, 2, Cm(1), Cm(8), Cm(8), Cm(2)).table
    for number, text in enumerate(["name", "age", "Ann", "31"]):
        table.cell(number // 2, number % 2).text = text
    slide.notes_slide.notes_text_frame.text = "Say this."
    extracted = extract(deck)
    assert extracted.text == (
        "Data\n\ninside\n\n| name | age |\n| --- | --- |\n| Ann | 31 |\n\nSay this."
    )
    assert extracted.blocks[-1].attributes == {"notes": True}
    assert extracted.blocks[-2].attributes == {"rows": [1, 1]}


def test_the_figures_behind_a_chart_are_a_table():
    deck = Presentation()
    slide = new_slide(deck, TITLE_ONLY, "Sales")
    figures = CategoryChartData()
    figures.categories = ["North", "South"]
    figures.add_series("2024", (1.5, 2))
    kind = XL_CHART_TYPE.COLUMN_CLUSTERED
    slide.shapes.add_chart(kind, Cm(1), Cm(5), Cm(8), Cm(5), figures)
    assert "|  | 2024 |\n| --- | --- |\n| North | 1.5 |\n| South | 2 |" in extract(deck).text


def test_a_title_as_long_as_a_paragraph_is_one():
    deck = Presentation()
    new_slide(deck, TITLE_ONLY, "word " * 100)
    assert [block.kind for block in extract(deck).blocks] == ["heading", "text"]


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (b"", EmptyFile),
        (b"hello", ParseError),
        (b"PK\x03\x04 not really", ParseError),
        (saved(Presentation()), NoText),
        (saved(Presentation())[:-3000], ParseError),
        (bytes.fromhex("d0cf11e0a1b11ae1") + b"\0" * 600, Encrypted),
    ],
)
def test_what_cannot_be_read(data, error):
    with pytest.raises(error):
        SlidesExtractor().extract(data)
