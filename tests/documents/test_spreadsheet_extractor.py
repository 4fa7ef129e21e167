"""XLSX: sheets, tables and their row numbers; what is refused before it is opened."""

import io
import zipfile
from datetime import date, datetime, timedelta

import pytest
import xlsxwriter

from documents.errors import BadFile, EmptyFile, Encrypted, NoText, ParseError, TooComplex
from documents.extractors.office.spreadsheet import SpreadsheetExtractor, shown
from tests.documents.test_html_extractor import assert_blocks_are_exact


def workbook(**sheets):
    """Each sheet from rows that start in A1; None is an empty cell."""
    file = io.BytesIO()
    with xlsxwriter.Workbook(file) as book:
        day = book.add_format({"num_format": "yyyy-mm-dd"})
        for name, rows in sheets.items():
            sheet = book.add_worksheet(name)
            for number, row in enumerate(rows):
                for column, value in enumerate(row):
                    if isinstance(value, date):
                        sheet.write_datetime(number, column, value, day)
                    elif value is not None:
                        sheet.write(number, column, value)
    return file.getvalue()


def extract(data, **options):
    extracted = SpreadsheetExtractor(**options).extract(data)
    assert_blocks_are_exact(extracted)
    return extracted


def test_a_sheet_is_a_heading_a_summary_and_its_table():
    extracted = extract(
        workbook(
            People=[
                ["name", "born", "score"],
                ["Ann", datetime(1990, 5, 1), 3.0],
                ["Bob", None, 0.1],
            ],
            Empty=[],
        )
    )
    assert extracted.text == (
        "People\n\nTable with 3 columns (name, born, score) and 2 rows.\n\n"
        "| name | born | score |\n| --- | --- | --- |\n"
        "| Ann | 1990-05-01 | 3 |\n| Bob |  | 0.1 |"
    )
    heading, summary, table = extracted.blocks
    assert (heading.kind, heading.level, heading.title) == ("heading", 1, "People")
    assert summary.kind == "text"
    assert table.attributes == {"sheet": "People", "rows": [2, 3]}  # as Excel numbers them


def test_groups_repeat_the_header_and_continue_the_numbers():
    rows = [["id", "word"], *([n, f"word {n}"] for n in range(1, 101))]
    extracted = extract(workbook(Data=rows), group_characters=300)
    tables = [block for block in extracted.blocks if block.kind == "table"]
    assert len(tables) > 3
    expected = 2
    for block in tables:
        assert extracted.text[block.start :].startswith("| id | word |")
        assert block.attributes["rows"][0] == expected
        expected = block.attributes["rows"][1] + 1
    assert expected == 102


def test_blank_rows_part_tables_but_not_the_data_of_one():
    two = [["a", "b"], ["x", 1], [], ["c", "d"], ["y", 2]]
    assert extract(workbook(S=two)).text.count("---") == 4
    one = [["a", "b"], ["x", 1], [], ["y", 2]]
    extracted = extract(workbook(S=one))
    assert extracted.blocks[-1].attributes["rows"] == [2, 4]


def test_a_line_above_the_table_is_text_with_its_row():
    extracted = extract(workbook(S=[["Sales 2024"], [], ["region", "sum"], ["North", 5]]))
    line = extracted.blocks[1]
    assert extracted.text[line.start : line.end] == "Sales 2024"
    assert line.attributes == {"sheet": "S", "rows": [1, 1]}


def test_a_header_of_two_lines_is_joined():
    rows = [["Region", None, "2024"], [None, "Sales", "Costs"], ["North", 5, 3]]
    assert "| Region | Sales | 2024 Costs |" in extract(workbook(S=rows)).text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (3.0, "3"),
        (0.1 + 0.2, "0.3"),
        (1e21, "1e+21"),
        (True, "TRUE"),
        (datetime(2024, 2, 3, 4, 5), "2024-02-03T04:05:00"),
        (date(2024, 2, 3), "2024-02-03"),
        (timedelta(hours=30), "1 day, 6:00:00"),
        (" x ", "x"),
    ],
)
def test_cells_as_a_person_writes_them(value, text):
    assert shown(value) == text


def test_too_many_cells_are_refused():
    with pytest.raises(TooComplex):
        extract(workbook(S=[["a", "b"]] * 10), max_cells=19)


def test_two_cells_a_universe_apart_are_refused_before_memory_is_set_aside():
    file = io.BytesIO()
    with xlsxwriter.Workbook(file) as book:
        sheet = book.add_worksheet()
        sheet.write(0, 0, "here")
        sheet.write(1_048_575, 16_383, "there")
    with pytest.raises(TooComplex):
        extract(file.getvalue())


def test_a_document_type_is_refused():
    file = io.BytesIO(workbook(S=[["a"]]))
    with zipfile.ZipFile(file, "a") as archive:
        archive.writestr("xl/evil.xml", "<!DOCTYPE x [<!ENTITY y 'z'>]><x>&y;</x>")
    with pytest.raises(BadFile) as caught:
        extract(file.getvalue())
    assert caught.value.code == "xml_forbidden"


def test_a_protected_file_is_named_as_such():
    envelope = bytes.fromhex("d0cf11e0a1b11ae1") + b"\0" * 500
    with pytest.raises(Encrypted):
        extract(envelope + "EncryptedPackage".encode("utf-16-le"))


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (b"", EmptyFile),
        (b"PK\x03\x04 not really", ParseError),
        (b"a,b\n1,2\n", ParseError),
        (bytes.fromhex("d0cf11e0a1b11ae1") + b"\0" * 600, ParseError),
        (workbook(S=[]), NoText),
        (workbook(S=[["a", "b"]])[:-200], ParseError),
    ],
)
def test_what_cannot_be_read(data, error):
    with pytest.raises(error):
        extract(data)


@pytest.mark.parametrize(
    ("part", "old", "new"),
    [
        ("xl/sharedStrings.xml", b'Count="2"', b'Count="99999999999"'),
        ("xl/worksheets/sheet1.xml", b'r="A1"', b'r="' + b"A" * 51 + b'17"'),
        ("xl/worksheets/sheet1.xml", b'r="A1"', b'r="xfd1"'),
        ("xl/worksheets/sheet1.xml", b'r="A1"', b'r="A99999999999"'),
    ],
)
def test_an_announced_universe_is_refused_before_memory_is_set_aside(
    part: str, old: bytes, new: bytes
):
    changed = io.BytesIO()
    original = io.BytesIO(workbook(S=[["a"], *[["b"]] * 400]))
    with zipfile.ZipFile(original) as book, zipfile.ZipFile(changed, "w") as copy:
        for name in book.namelist():
            content = book.read(name)
            copy.writestr(name, content.replace(old, new) if name == part else content)
    with pytest.raises(TooComplex):
        extract(changed.getvalue())
