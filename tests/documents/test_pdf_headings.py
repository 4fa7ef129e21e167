"""PDFs without an outline: titles and headings by the size of letters, tables by their rows."""

import pytest

from documents.extractors.pdf.extractor import PdfExtractor
from documents.passages import Extracted

from .test_pdf_extractor import Placed, changed, check, make_pdf, page, read

PROSE = [
    "The harbour was quiet when we came in the morning, and the",
    "lights were still burning along the northern wall, where the",
    "masters of the boats had gathered to hear about the new fees.",
]
TITLE = ("Mooring fees and the lights", "of the northern harbour")


def large(*lines: str, top: float, size: float = 18) -> list[Placed]:
    return [(50, top - 1.2 * size * n, size, line) for n, line in enumerate(lines)]


def headings(extracted: Extracted) -> list[tuple[int, str]]:
    return [(block.level, block.title) for block in extracted.blocks if block.kind == "heading"]


def test_the_largest_words_of_the_first_page_are_the_title_and_one_paragraph():
    extracted = read(
        [
            *page("Journal of Harbours, volume 12", top=820, size=8),
            *large(*TITLE, top=790),
            *page(*PROSE, top=730),
            *page("- 1 -", top=30, size=8),
        ]
    )
    check(extracted)
    assert extracted.title == " ".join(TITLE)
    assert extracted.text.split("\n\n") == [
        "Journal of Harbours, volume 12",
        " ".join(TITLE),
        " ".join(PROSE),
        "- 1 -",
    ]
    assert headings(extracted) == []


def test_a_title_broken_at_a_hyphen_is_whole():
    extracted = read([*large("A history of infor-", "mation", top=790), *page(*PROSE, top=730)])
    assert extracted.title == "A history of information"


@pytest.mark.parametrize(
    ("lines", "title"),
    [
        (("Tides of the", "northern sea"), "Tides of the northern sea"),
        (("The harbour opens when the tide allows it.",), ""),
        (("1 2 3 4 5",), ""),
    ],
)
def test_a_document_that_is_nothing_but_a_title_has_it(lines: tuple[str, ...], title: str):
    assert read(page(*lines, top=700)).title == title


def test_what_the_file_says_of_its_title_counts_more():
    data = make_pdf([[*large(*TITLE, top=790), *page(*PROSE, top=730)]])
    assert PdfExtractor().extract(changed(data, info={"/Title": "Fees"})).title == "Fees"


def test_larger_letters_are_headings_by_rank():
    first = [
        *large("Harbours of the north", top=800, size=24),
        *large("Fees", top=750),
        *page(*PROSE, top=720),
        *large("Who pays", top=660, size=14),
        *page(*PROSE, top=640),
    ]
    second = [*large("Lights", top=800), *page(*PROSE, top=770)]
    extracted = read(first, second)
    check(extracted)
    assert extracted.title == "Harbours of the north"
    assert headings(extracted) == [(1, "Fees"), (2, "Who pays"), (1, "Lights")]


@pytest.mark.parametrize(
    "words",
    [
        "42 %",
        "x = a + b",
        "anna@example.com",
        "The boats came in at night. Nobody saw them go out.",
        "A lead in large letters, all of it one sentence.",
    ],
)
def test_what_is_only_large_is_no_heading(words: str):
    extracted = read([*page(*PROSE), *large(words, top=600), *page(*PROSE, *PROSE, top=560)], [])
    assert headings(extracted) == []


def test_a_chapter_or_a_list_of_contents_is_no_title():
    for words in ("Contents", "1 Introduction"):
        extracted = read([*large(words, top=800), *page(*PROSE, *PROSE, top=760)])
        assert (extracted.title, headings(extracted)) == ("", [(1, words)])


def test_a_poster_has_a_title_and_no_headings():
    extracted = read([*large("Open day", top=800, size=40), *large("Boats", top=700), *page("Now")])
    assert headings(extracted) == []


ROWS = [
    ("in millions", "2023", "2022"),
    ("Net sales", "$ 34,229", "$ 35,355"),
    ("Cost of sales, exclusive of depreciation", "(19,477)", "(19,232)"),
    ("Operating income", "6,538", "-"),
    ("Income per share, diluted", "(12.63)", "10.18"),
]
TABLE = "\n".join(" ".join(row) for row in ROWS)
BELOW = "See the notes on the next page for all of these figures and for how they were made."


@pytest.mark.parametrize("by_columns", [True, False])
def test_a_tables_rows_keep_label_and_figures_on_one_line(by_columns: bool):
    cells = [
        (x, 700 - 13.0 * number, 10.0, row[column])
        for number, row in enumerate(ROWS)
        for column, x in enumerate((50.0, 300.0, 400.0))
    ]
    if by_columns:
        cells.sort(key=lambda cell: cell[0])
    extracted = read([*page(BELOW), *cells, *page(BELOW, top=600)])
    check(extracted)
    assert extracted.text == f"{BELOW}\n\n{TABLE}\n\n{BELOW}"


def test_years_above_a_table_written_by_columns_stand_before_its_rows():
    columns = [
        [(50.0, 700 - 13.0 * n, 10.0, row[0]) for n, row in enumerate(ROWS) if n],
        *(
            [(x, 700 - 13.0 * n, 10.0, row[column]) for n, row in enumerate(ROWS)]
            for column, x in ((1, 300.0), (2, 400.0))
        ),
    ]
    text = read([*page(BELOW), *(cell for column in columns for cell in column)]).text
    assert text == f"{BELOW}\n\n" + TABLE.removeprefix("in millions ")


def test_figures_of_a_chart_beside_a_column_of_text_stay_apart():
    axis = [(400.0, 700 - 40.0 * n, 10.0, str(10 * n)) for n in range(6)]
    text = read([*page(*PROSE * 5, top=700), *axis]).text
    assert text.startswith(" ".join(PROSE * 5))
