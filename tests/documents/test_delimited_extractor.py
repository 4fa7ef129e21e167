"""CSV and TSV: what is read from the file, and how it is written down."""

import pytest

from documents.errors import EmptyFile, NoText, TooComplex
from documents.extractors.data.delimited import DelimitedExtractor, find_delimiter, read_rows


def extract(data, **options):
    extracted = DelimitedExtractor(**options).extract(data)
    end = -1
    for block in extracted.blocks:
        assert end < block.start < block.end
        assert extracted.text[block.start : block.end].strip()
        end = block.end
    return extracted


def shown(extracted):
    return [extracted.text[block.start : block.end] for block in extracted.blocks]


def test_summary_then_table_with_row_range():
    extracted = extract(b"name,age,city\nAnn,31,Oslo\nBob,27,Rome\n")
    assert shown(extracted) == [
        "Table with 3 columns (name, age, city) and 2 rows.",
        "| name | age | city |\n| --- | --- | --- |\n| Ann | 31 | Oslo |\n| Bob | 27 | Rome |",
    ]
    assert extracted.blocks[1].kind == "table"
    assert extracted.blocks[1].attributes == {"rows": [1, 2]}


def test_every_group_repeats_the_header_and_no_row_is_lost():
    rows = "".join(f"{n},word {n}\n" for n in range(1, 201))
    extracted = extract(f"id,text\n{rows}".encode(), group_characters=300)
    tables = [block for block in extracted.blocks if block.kind == "table"]
    assert len(tables) > 5
    expected = 1
    for block in tables:
        text = extracted.text[block.start : block.end]
        assert text.startswith("| id | text |\n")
        assert len(text) <= 300
        first, last = block.attributes["rows"]
        assert first == expected
        assert text.count("word") == last - first + 1
        expected = last + 1
    assert expected == 201


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_delimiter_and_encoding_are_found(delimiter, encoding):
    lines = [["name", "größe"], ["Ann", "1,5; or 2"], ["Bob", "3"]]
    lines = [[f'"{cell}"' for cell in line] for line in lines]
    data = "\r\n".join(delimiter.join(line) for line in lines).encode(encoding)
    assert read_rows(data) == (["name", "größe"], [["Ann", "1,5; or 2"], ["Bob", "3"]])


def test_decimal_commas_do_not_hide_the_semicolon():
    assert find_delimiter("year;sum\n2022;1,5\n2023;2,5\n") == ";"
    assert find_delimiter("1,5;2,5\n3,5;4,5\n") == ";"


def test_excel_may_name_the_delimiter():
    assert read_rows(b"sep=;\na;b\nx,1;y\n") == (["a", "b"], [["x,1", "y"]])


def test_prose_in_one_column_is_not_cut_at_its_commas():
    header, rows = read_rows(b"remark\nWell, then\nno commas here\nnone here either\n")
    assert header == ["remark"]
    assert rows[0] == ["Well, then"]


def test_quotes_newlines_and_doubled_quotes():
    header, rows = read_rows(b'a,b\r\n1,"ha \r\n""ha"", ha"\r\n')
    assert (header, rows) == (["a", "b"], [["1", 'ha \r\n"ha", ha']])


def test_cells_are_written_on_one_line_with_pipes_escaped():
    extracted = extract(b'a,b\n"x\ny",p|q\n')
    assert "| x y | p\\|q |" in extracted.text


def test_ragged_rows_are_filled_up_and_named():
    assert read_rows(b"a,b,c\n1,2,x\n3\n4,5,y,6\n") == (
        ["a", "b", "c", "column 4"],
        [["1", "2", "x", ""], ["3", "", "", ""], ["4", "5", "y", "6"]],
    )


def test_a_first_row_of_numbers_is_data():
    assert read_rows(b"1,2.5\n3,4\n") == (["column 1", "column 2"], [["1", "2.5"], ["3", "4"]])


def test_a_title_above_the_header_becomes_part_of_the_summary():
    extracted = extract(b"Stanley Cups,,\nTeam,Location,Cups\nBlues,STL,1\n")
    assert extracted.title == "Stanley Cups"
    assert shown(extracted)[0].startswith("Stanley Cups. Table with 3 columns (Team,")


def test_a_quote_that_is_never_closed_does_not_swallow_the_file():
    extracted = extract(b'a,b\n"oops,1\n2,3\n')
    assert "| 2 | 3 |" in extracted.text
    assert "never closed" in extracted.warnings[0]


def test_stray_quotes_inside_cells_are_kept():
    assert read_rows(b'a,b\n37 36"N,x\n') == (["a", "b"], [['37 36"N', "x"]])


def test_a_header_alone_is_still_a_table():
    assert shown(extract(b"a,b\n"))[0] == "Table with 2 columns (a, b) and no rows."


def test_a_huge_header_does_not_multiply_the_text():
    header = ",".join(f"{'x' * 500}{n}" for n in range(200))
    rows = ("," * 199 + "1\n") * 3000
    data = f"{header}\n{rows}".encode()
    assert len(extract(data).text) < 8 * len(data)


def test_rows_that_would_fill_up_to_too_many_cells_are_refused():
    with pytest.raises(TooComplex):
        extract(b"a" + b",a" * 50_000 + b"\n" + b"1,2\n" * 1000)


@pytest.mark.parametrize(
    ("data", "error"), [(b"", EmptyFile), (b" \n", NoText), (b",,\n,", NoText)]
)
def test_nothing_to_read(data, error):
    with pytest.raises(error):
        extract(data)
