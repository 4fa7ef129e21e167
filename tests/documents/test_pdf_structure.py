"""Reports as companies file them: bold and numbered headings, statements as tables, covers."""

import pytest

from documents.chunking.base import StructureSplitter
from documents.embedders.hashing import HashingEmbedder
from documents.extractors.pdf.extractor import PdfExtractor
from documents.extractors.pdf.fonts import style_of
from documents.passages import Block, Extracted

from .test_pdf_extractor import Placed, changed, check, make_pdf, page, read
from .test_pdf_headings import PROSE, headings, large

COVER = [
    *large("**UNITED STATES", "**SECURITIES AND EXCHANGE COMMISSION", top=800, size=14),
    *page("Washington, D.C. 20549", top=760),
    *large("**FORM 10-K", top=740, size=14),
    *page("For the fiscal year ended December 31, 2022", top=715),
    *large("**HARBOUR WORKS, INC.", top=690, size=14),
    *page("(Exact name of registrant as specified in its charter)", top=675),
    *page(*PROSE, top=640),
]
STATEMENT = [
    ("(Millions, except per share amounts)", "2022", "2021", "2020"),
    ("Net sales", "$ 34,229", "$ 35,355", "$ 32,184"),
    ("Operating expenses",),
    ("Cost of sales", "19,232", "18,795", "16,605"),
    ("Research, development and related expenses", "1,862", "—", "1,878"),
    ("Goodwill impairment", "271"),
    ("Net income", "$ 5,791", "$ 5,929", "$ 5,453"),
]
TABLE = "\n".join(" ".join(row) for row in STATEMENT)
COLUMNS = (50.0, 340.0, 420.0, 500.0)


def cells(rows: list[tuple[str, ...]], *, top: float) -> list[Placed]:
    return [
        (x, top - 13.0 * number, 10.0, cell)
        for number, row in enumerate(rows)
        for x, cell in zip(COLUMNS, row, strict=False)
    ]


def tables(extracted: Extracted) -> list[tuple[int, str]]:
    return [
        (block.attributes["header_lines"], extracted.text[block.start : block.end])
        for block in extracted.blocks
        if block.kind == "table"
    ]


@pytest.mark.parametrize(
    ("lines", "title"),
    [
        (COVER, "HARBOUR WORKS, INC. Form 10-K 2022"),
        (
            [
                (x, y, size, text.replace("December 31, 2022", "January 1, 2023"))
                for x, y, size, text in COVER
            ],
            "HARBOUR WORKS, INC. Form 10-K 2022",  # 52 weeks of 2022
        ),
        (
            [
                (
                    x,
                    y,
                    size,
                    text.replace("10-K", "10-Q").replace("fiscal year", "quarterly period"),
                )
                for x, y, size, text in COVER
            ],
            "HARBOUR WORKS, INC. Form 10-Q December 31, 2022",
        ),
    ],
)
def test_a_filing_is_called_by_company_form_and_period(lines: list[Placed], title: str):
    data = changed(make_pdf([lines, page(*PROSE)]), info={"/Title": "0000764478-23-000006"})
    extracted = PdfExtractor().extract(data)
    check(extracted)
    assert extracted.title == title
    assert headings(extracted) == []  # a form's cover has bold words and no sections


def test_a_number_or_what_stands_on_every_form_is_no_title():
    for words in ("0000078003-23-000088", "UNITED STATES SECURITIES AND EXCHANGE COMMISSION"):
        data = changed(make_pdf([page("Some words.")]), info={"/Title": words})
        assert PdfExtractor().extract(data).title == ""


def test_large_words_that_name_nothing_leave_the_title_to_the_next():
    extracted = read(
        [
            *large("**FOR IMMEDIATE RELEASE", top=800, size=24),
            *large("**Harbour Works opens its northern wall", top=740),
            *page(*PROSE, top=700),
        ]
    )
    assert extracted.title == "Harbour Works opens its northern wall"


def test_a_first_heading_of_the_titles_size_is_apart_from_it():
    extracted = read([*large("Harbours", top=800), *large("Fees", top=760), *page(*PROSE, top=730)])
    assert (extracted.title, headings(extracted)) == ("Harbours", [(1, "Fees")])


def test_bold_lines_that_stand_alone_are_headings_in_order_of_their_words():
    first = [
        *page("**PART II", "", "**Item 8. Financial Statements and Supplementary Data"),
        *page(
            "**Harbour Works and Subsidiaries",
            "**Notes to Consolidated Financial Statements",
            top=710,
        ),
        *page("**NOTE 7. Mooring Fees", top=670),
        *page(*PROSE, top=650),
        *page("**Fees of the north", top=590),
        *page(*PROSE, top=570),
    ]
    second = [
        *page("**Notes to Consolidated Financial Statements", "**NOTE 8. Lights (continued)"),
        *page(*PROSE, top=740),
        *page("**ITEM 9. Changes in Accountants", top=680),
        *page(*PROSE, top=660),
    ]
    extracted = read(first, second)
    check(extracted)
    assert headings(extracted) == [
        (1, "PART II"),
        (2, "Item 8. Financial Statements and Supplementary Data"),
        (3, "Notes to Consolidated Financial Statements"),
        (4, "NOTE 7. Mooring Fees"),
        (5, "Fees of the north"),
        (4, "NOTE 8. Lights"),  # the notes go on: their name at the page's top opens nothing
        (2, "ITEM 9. Changes in Accountants"),
    ]


@pytest.mark.parametrize(
    "words",
    [
        "**For the year ended December 31, 2022",
        "**(Unaudited)",
        "**/s/ Anna Seaman",
        "**Total harbour fees $ 1,583",
        "**This paragraph is bold because it matters to us. Please read all of it now.",
        "Item 7. Harbour fees 41",
        "• **Bold words after a bullet",
    ],
)
def test_what_only_looks_like_a_heading_is_none(words: str):
    extracted = read([*page(*PROSE), *page(words, top=700), *page(*PROSE, top=670)])
    assert headings(extracted) == []


def test_where_all_is_bold_nothing_stands_out():
    bold = [f"**{line}" for line in PROSE]
    lines = [*page(*bold), *page("**Fees", top=700), *page(*bold, *bold, *bold, top=670)]
    assert headings(read(lines)) == []


@pytest.mark.parametrize(
    ("name", "style"),
    [
        (b"ABCDEF+Arial-BoldMT", (True, False)),
        (b"CMBX10", (True, False)),
        (b"TimesNewRomanPS-BoldItalicMT", (True, True)),
        (b"LiberationSerif", (False, False)),
        (b"BOLDAB+Calibri", (False, False)),  # only the tag of a subset
    ],
)
def test_a_fonts_name_tells_bold_and_italic(name: bytes, style: tuple[bool, bool]):
    assert style_of(name, False) == style


def test_a_statement_is_a_table_below_its_heading_with_what_heads_its_columns():
    extracted = read(
        [
            *page("**Harbour Works and Subsidiaries", "**Consolidated Statement of Income"),
            *page("**Years ended December 31", top=754),
            *cells(STATEMENT, top=735),
            *page(*PROSE, top=620),
        ]
    )
    check(extracted)
    assert headings(extracted) == [(1, "Consolidated Statement of Income")]
    assert tables(extracted) == [(2, f"Years ended December 31\n{TABLE}")]
    splitter = StructureSplitter(HashingEmbedder().count_tokens, size=200, overlap=0, limit=400)
    first, second = splitter.split(extracted)
    assert (first.kind, second.kind) == ("table", "text")
    assert first.section == "Consolidated Statement of Income"
    assert extracted.text[first.start : first.end] == first.text


def test_a_head_written_cell_by_cell_after_its_table_stands_above_it_in_rows():
    head = [
        (420.0, 748.0, 10.0, "**2022"),
        (340.0, 761.0, 10.0, "**Quarter"),
        (340.0, 748.0, 10.0, "**2022"),
        (420.0, 761.0, 10.0, "**Year"),
    ]
    rows = [(f"Fees of wall {name}", "1,200", "4,800") for name in ("north", "east", "west")]
    extracted = read([*cells(rows, top=730), *head])
    check(extracted)
    body = "\n".join(" ".join(row) for row in rows)
    assert tables(extracted) == [(2, f"Quarter Year\n2022 2022\n{body}")]


def test_two_tables_with_heads_of_their_own_are_two():
    other = [("Shares", "2022", "2021", "2020"), *STATEMENT[1:]]
    extracted = read([*cells(STATEMENT, top=780), *cells(other, top=670)])
    assert [head for head, _ in tables(extracted)] == [1, 1]


def test_a_list_of_contents_is_neither_a_table_nor_headings():
    items = [
        (f"Item {n}. {words}", str(page_number))
        for n, (words, page_number) in enumerate(
            [("Business", 3), ("Risk Factors", 9), ("Properties", 17), ("Mines", 18), ("Fees", 21)],
            start=1,
        )
    ]
    extracted = read([*cells(items, top=780), *page(*PROSE, top=640)])
    check(extracted)
    assert tables(extracted) == []
    assert headings(extracted) == []
    assert "Item 1. Business 3\nItem 2. Risk Factors 9" in extracted.text


@pytest.mark.parametrize(
    "lines",
    [
        [
            "The fees were 1,200 and 4,800 in the years 2021, 2022 and",
            "in the years before them they had been 1,100 and 4,200 for",
            "the boats of the northern wall, of which there were 12 and 14",
        ],
        [
            "[1] A. Seaman. Lights of the north. Harbours 12, 44-51, 2004",
            "[2] B. Mason. Walls of the north. Harbours 13, 102-119, 2005",
            "[3] C. Baker. Bread of the north. Harbours 14, 201-208, 2006",
        ],
    ],
)
def test_prose_and_references_full_of_figures_are_no_table(lines: list[str]):
    assert tables(read(page(*lines, *PROSE))) == []


def test_a_running_head_of_one_part_of_a_file_goes_and_stays_once():
    parts = [
        [
            *(page("Notes of the harbour", top=810) if number > 10 else ()),
            *page(*PROSE),
            *page(str(number), top=40 + 13 * (number % 3)),
        ]
        for number in range(1, 23)
    ]
    extracted = read(*parts)
    check(extracted)
    assert extracted.text.count("Notes of the harbour") == 1
    assert not any(character.isdigit() for character in extracted.text)


def test_an_outline_that_names_a_row_of_a_table_makes_no_heading_of_it():
    data = make_pdf([[*page("Fees", top=800), *cells(STATEMENT, top=770)], page("Lights", *PROSE)])
    outline = [("Fees", 0), ("Operating expenses", 0), ("Lights", 1)]
    extracted = PdfExtractor().extract(changed(data, outline=outline))
    check(extracted)
    assert headings(extracted) == [(1, "Fees"), (2, "Lights")]
    assert [block.kind for block in extracted.blocks][:2] == ["heading", "table"]
    assert isinstance(extracted.blocks[1], Block)
