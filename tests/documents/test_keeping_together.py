"""Ingestion version 2: what belongs together stays in one chunk, and rows know their header."""

from collections.abc import Sequence

import pytest

from documents.chunking.base import StructureSplitter
from documents.chunking.context_headers import with_headers
from documents.chunking.table_text import header_of, plain, row_spans, spoken
from documents.extractors.markup.markdown import MarkdownExtractor
from documents.extractors.markup.rst import RstExtractor
from documents.passages import Block, Extracted, Passage

TABLE = "| Lamp | Years |\n| --- | --- |\n| Beacon | 5 |\n| Ember | 2 |"


def words(texts: Sequence[str]) -> list[int]:
    return [len(text.split()) for text in texts]


def split(text: str, *, size: int = 60, keeps_together: bool = True) -> list[Passage]:
    extracted = MarkdownExtractor().extract(text.encode())
    splitter = StructureSplitter(
        words, size=size, overlap=0, limit=size, keeps_together=keeps_together
    )
    passages = splitter.split(extracted)
    for passage in passages:
        assert extracted.text[passage.start : passage.end] == passage.text
    return passages


def test_a_table_stays_with_the_sentences_around_it():
    text = f"# Warranty\n\nHow long each lamp is covered:\n\n{TABLE}\n\nBulbs are not covered.\n"
    (passage,) = split(text)
    assert passage.text.startswith("# Warranty")
    assert passage.text.endswith("Bulbs are not covered.")
    assert len(split(text, keeps_together=False)) == 3  # as ingestion version 1 does


def test_a_table_too_long_for_one_chunk_keeps_its_lead_in_and_whole_rows():
    rows = "\n".join(f"| Lamp number {n} | {n} years of cover |" for n in range(20))
    text = f"# Warranty\n\nHow long:\n\n| Lamp | Cover |\n| --- | --- |\n{rows}\n"
    first, *others = split(text)
    assert "How long:" in first.text
    assert "| Lamp number 0 |" in first.text
    assert others
    for passage in (first, *others):
        lines = [line for line in passage.text.splitlines() if line.startswith("| Lamp number")]
        assert all(line.endswith("years of cover |") for line in lines)
    assert {passage.attributes["table_header"] for passage in others} == {
        "| Lamp | Cover |\n| --- | --- |"
    }
    assert "table_header" not in first.attributes


def test_a_model_reads_rows_with_the_names_of_their_columns():
    (passage,) = split(f"# Warranty\n\n{TABLE}\n")
    assert passage.readable == "# Warranty\n\nLamp: Beacon; Years: 5\nLamp: Ember; Years: 2"
    (embedded,) = with_headers([passage], title="Lamps", count_tokens=words, limit=60)
    assert "Lamp: Beacon; Years: 5" in embedded
    assert "|" in passage.text


def test_rows_that_would_be_too_long_with_names_are_read_plainly():
    cells = " | ".join("x" for _ in range(6))
    names = " | ".join(f"a long name of column {n}" for n in range(6))
    rule = "|" + " --- |" * 6
    row = f"| {cells} |\n"
    passages = split(f"| {names} |\n{rule}\n{row}{row}{row}", size=96)
    assert passages[0].readable.endswith("x, x, x, x, x, x\nx, x, x, x, x, x")


def test_a_long_row_of_links_is_not_cut():
    links = " ".join(f'<a href="x" title="y" id="z">t{n}</a>' for n in range(9))
    passages = split(f"| A | B |\n|---|---|\n| one | two |\n| {links} | [c](d) |\n", size=32)
    (row,) = [passage for passage in passages if "t0</a>" in passage.text]
    assert row.text.endswith("t8</a> | [c](d) |")
    assert row.tokens > 32
    assert row.readable == "A: t0 t1 t2 t3 t4 t5 t6 t7 t8; B: c"


def test_tiny_sections_share_a_chunk_under_their_common_heading():
    text = "# Guide\n\n## Colours\n\n### Red\n\nWarm.\n\n### Blue\n\nCold.\n\n### Green\n\nFresh.\n"
    (passage,) = split(text, size=40)
    assert passage.heading_path == ("Guide", "Colours")
    assert passage.attributes["sections"] == [
        "Guide > Colours > Red",
        "Guide > Colours > Blue",
        "Guide > Colours > Green",
    ]


def test_larger_sections_keep_their_boundary():
    long = "word " * 30
    text = f"# Guide\n\n## Red\n\n{long}\n\n## Blue\n\nCold.\n\n## Green\n\n{long}\n"
    assert [p.heading_path for p in split(text, size=60)] == [
        ("Guide", "Red"),
        ("Guide", "Blue"),
        ("Guide", "Green"),
    ]


def test_sections_without_a_common_heading_stay_apart():
    assert len(split("# Red\n\nWarm.\n\n# Blue\n\nCold.\n", size=40)) == 2


@pytest.mark.parametrize(
    ("table", "header", "names"),
    [
        (TABLE, "| Lamp | Years |\n| --- | --- |", ("Lamp", "Years")),
        ("| Beacon | 5 |\n| Ember | 2 |", "", ()),
        (
            "Lamp    Years\n======  =====\nBeacon  5",
            "Lamp    Years\n======  =====",
            ("Lamp", "Years"),
        ),
        ("one line", "", ()),
    ],
)
def test_what_heads_a_table(table: str, header: str, names: tuple[str, ...]):
    found = header_of(table, Block("table", 0, len(table)))
    assert (found.text, found.names) == (header, names)


def test_a_header_of_restructured_text_stands_between_two_rules():
    table = "======  =====\nLamp    Years\n======  =====\nBeacon  5\n======  ====="
    found = header_of(table, Block("table", 0, len(table)))
    assert found.names == ("Lamp", "Years")
    assert found.text.endswith("Years\n======  =====")


def test_a_header_that_the_reader_of_the_file_has_counted():
    table = "Years ended December 31 (Millions)  2022  2021\nNet sales  $ 34,229  $ 35,355"
    block = Block("table", 0, len(table), attributes={"header_lines": 1})
    assert header_of(table, block).text == "Years ended December 31 (Millions)  2022  2021"
    assert [table[slice(*span)] for span in row_spans(table, block)][1].startswith("Net sales")


def test_links_and_markup_are_left_out_of_what_a_model_reads():
    row = '| <a id="x" href="#x">`timeout`</a> | See [docs](https://example.com/docs). | |'
    assert plain(row) == "`timeout`, See docs."
    assert spoken(row, ("Field", "Text", "Default")) == "Field: `timeout`; Text: See docs."


def test_simple_tables_of_restructured_text_come_with_their_header():
    rows = "\n".join(f"lamp{n}   {n} years" for n in range(30))
    rule = "======= ======="
    text = f"Title\n=====\n\n{rule}\nLamp    Cover\n{rule}\n{rows}\n{rule}\n"
    extracted: Extracted = RstExtractor().extract(text.encode())
    splitter = StructureSplitter(words, size=30, overlap=0, limit=30, keeps_together=True)
    passages = [p for p in splitter.split(extracted) if p.kind == "table"]
    assert len(passages) > 1
    assert all("Lamp" in p.text or "Lamp" in p.attributes["table_header"] for p in passages)


def test_a_header_drawn_wide_is_kept_without_its_width():
    name = "Name" + " " * 900
    rows = "\n".join(f"| lamp {n}{' ' * 900} | {n} |" for n in range(30))
    text = f"# T\n\n| {name} | Years |\n| {'-' * 1500} | --- |\n{rows}\n"
    passages = split(text, size=30)
    assert {p.attributes.get("table_header") for p in passages[1:]} == {
        "| Name | Years |\n| --- | --- |"
    }
