"""From tables to facts: which column names a row, what its cells say, where it stands."""

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from documents.extractors.data.delimited import DelimitedExtractor
from documents.extractors.data.tables import Table, write_table
from documents.extractors.office.spreadsheet import SpreadsheetExtractor
from documents.extractors.writer import TextWriter
from documents.ingestion.row_facts import row_facts
from documents.passages import Extracted, RowFact

from .test_spreadsheet_extractor import workbook


def facts_in(extracted: Extracted, title: str = "stock.csv") -> list[RowFact]:
    return list(row_facts(extracted, title=title))


def said(text: str) -> list[tuple[str, str, str]]:
    facts = facts_in(DelimitedExtractor().extract(text.encode()))
    return [(fact.subject, fact.predicate, fact.object) for fact in facts]


def test_the_first_unique_column_names_the_rows_and_the_others_speak_of_them():
    assert said("kind,sku,price\nlamp,A1,12\nlamp,B2,15\n") == [
        ("A1", "kind", "lamp"),
        ("A1", "price", "12"),
        ("B2", "kind", "lamp"),
        ("B2", "price", "15"),
    ]


def test_a_column_with_a_gap_or_a_repeat_names_nothing():
    assert said("a,b\nx,1\n,2\ny,2\n") == [
        ("stock.csv row 1", "a", "x"),
        ("stock.csv row 1", "b", "1"),
        ("stock.csv row 2", "b", "2"),
        ("stock.csv row 3", "a", "y"),
        ("stock.csv row 3", "b", "2"),
    ]


def test_empty_cells_say_nothing_and_a_nameless_column_gets_a_name():
    assert said("id,,c\n1,x,\n2,,z\n") == [("1", "column 2", "x"), ("2", "c", "z")]


def test_a_single_column_is_told_by_row():
    assert said("word\nalpha\nbeta\n") == [
        ("stock.csv row 1", "word", "alpha"),
        ("stock.csv row 2", "word", "beta"),
    ]


def test_columns_of_subject_predicate_and_object_are_a_list_of_statements():
    assert said(
        "Note,Subject,PREDICATE,object\nx,Ann,likes,tea\ny,Ann,likes,milk\nz,Ann,,tea\n"
    ) == [
        ("Ann", "likes", "tea"),
        ("Ann", "likes", "milk"),
    ]
    assert said("subject,object\nAnn,tea\n") == [("Ann", "object", "tea")]  # not without all three


@pytest.mark.parametrize(
    ("column", "cell"),
    [
        ("certainty", "1.5"),
        ("certainty", "nan"),
        ("certainty", "sure"),
        ("valid from", "soon"),
        ("valid_to", "0001-01-01T00:00:00+23:00"),
        ("user", "u" * 201),
        ("tags", "t" * 201),
        ("tags", ";".join(map(str, range(101)))),
    ],
)
def test_a_row_with_a_cell_that_cannot_be_read_is_no_fact_and_is_named(column: str, cell: str):
    table = f"subject,predicate,object,{column}\nAnn,likes,tea,\nBob,likes,milk,{cell}\n"
    unread: list[int] = []
    extracted = DelimitedExtractor().extract(table.encode())
    (fact,) = row_facts(extracted, title="T", unread=unread)
    assert (fact.subject, fact.certainty, fact.valid_from, fact.tags) == ("Ann", 1.0, None, ())
    assert unread == [2]


def test_a_header_without_rows_says_nothing():
    assert said("a,b\n") == []


def test_long_cells_name_nothing_and_long_headers_are_cut():
    long = "x" * 501
    facts = facts_in(DelimitedExtractor().extract(f"a,{long}\n{long},{long}\n".encode()), "t" * 999)
    assert {fact.subject for fact in facts} == {"t" * 450 + " row 1"}
    assert [(fact.predicate, fact.object) for fact in facts] == [("a", long), (long[:500], long)]


def test_bars_backslashes_and_line_breaks_survive():
    cells = ["a|b", "c\\", "\\|", "| ", "d\ne", " | "]
    text = io.StringIO()
    csv.writer(text).writerows([["id", *"uvwxyz"], ["1", *cells]])
    objects = [
        fact.object for fact in facts_in(DelimitedExtractor().extract(text.getvalue().encode()))
    ]
    assert objects == ["a|b", "c\\", "\\|", "|", "d e", "|"]


def test_a_long_table_is_one_table_however_many_blocks_it_is_in():
    rows = "".join(f"{n},{n % 7}\n" for n in range(1000))
    extracted = DelimitedExtractor(group_characters=200).extract(f"n,rest\n{rows}".encode())
    facts = facts_in(extracted)
    assert [fact.subject for fact in facts] == [str(n) for n in range(1000)]
    for n, fact in enumerate(facts):
        assert extracted.text[fact.start : fact.end] == f"| {n} | {n % 7} |"


def test_sheets_and_tables_are_read_one_by_one():
    book = workbook(
        People=[["name", "age"], ["Ann", 30], ["Bob", 30], [], ["Place", "Rank"], ["Oslo", 1]],
        Sums=[["q", "sum"], ["x", 5], ["x", 5]],
    )
    extracted = SpreadsheetExtractor().extract(book)
    facts = facts_in(extracted, "Book")
    assert [(fact.subject, fact.predicate, fact.object) for fact in facts] == [
        ("Ann", "age", "30"),
        ("Bob", "age", "30"),
        ("Oslo", "Rank", "1"),
        ("Book > Sums row 2", "q", "x"),
        ("Book > Sums row 2", "sum", "5"),
        ("Book > Sums row 3", "q", "x"),
        ("Book > Sums row 3", "sum", "5"),
    ]
    assert extracted.text[facts[0].start : facts[0].end] == "| Ann | 30 |"


def test_rows_keep_their_numbers_across_blank_ones():
    book = workbook(S=[["a", "b"], ["x", 1], [], ["x", 1]])
    facts = facts_in(SpreadsheetExtractor().extract(book), "Book")
    assert [fact.subject for fact in facts] == ["Book > S row 2"] * 2 + ["Book > S row 4"] * 2


NASTY = st.text(st.sampled_from("ab|\\ \n\t\r\x00\x1f\x85\u2028\ufeff-é"), max_size=6)


@given(
    st.integers(1, 4).flatmap(
        lambda width: st.lists(st.lists(NASTY, min_size=width, max_size=width), min_size=2)
    ),
    st.integers(1, 80),
)
def test_whatever_stands_in_the_cells_every_span_is_its_row(rows: list[list[str]], size: int):
    writer = TextWriter()
    write_table(writer, Table(rows[0], rows[1:]), size=size)
    extracted = Extracted(text=writer.text, blocks=tuple(writer.blocks))
    width = len(rows[0])
    cells = {" ".join(c.split()).replace("\x00", "").strip() for row in rows[1:] for c in row}
    for fact in row_facts(extracted, title="T"):
        line = extracted.text[fact.start : fact.end]
        assert "\n" not in line
        assert line.count(" | ") == width - 1
        assert fact.object in cells
        assert fact.object.replace("|", "\\|") in line
