"""PDFs by example: small files written by hand, and what a reader of their text expects."""

import io
import subprocess
import sys
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pypdf import PdfReader, PdfWriter

from documents.chunking.base import StructureSplitter
from documents.embedders.hashing import HashingEmbedder
from documents.errors import BadFile, EmptyFile, Encrypted, NoText, ParseError, TooComplex
from documents.extractors.lines import tidy
from documents.extractors.pdf.extractor import PdfExtractor
from documents.passages import Extracted

# left, baseline, size, text: written in this order, as a PDF's producer may choose
Placed = tuple[float, float, float, str]
BOLD = "**"  # before a text: it is set in bold letters


def make_pdf(pages: list[list[Placed]]) -> bytes:
    kids = " ".join(f"{5 + 2 * index} 0 R" for index in range(len(pages)))
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>".encode(),
        *(
            b"<< /Type /Font /Subtype /Type1 /BaseFont /%s /Encoding /WinAnsiEncoding >>" % name
            for name in (b"Helvetica", b"Helvetica-Bold")
        ),
    ]
    for index, page in enumerate(pages):
        shown = (
            f"BT /F{1 + text.startswith(BOLD)} {size} Tf {x} {y} Td"
            f" ({escaped(text.removeprefix(BOLD))}) Tj ET"
            for x, y, size, text in page
        )
        stream = "\n".join(shown).encode("cp1252")
        objects += [
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] "
            b"/Resources << /Font << /F1 3 0 R /F2 4 0 R >> >> /Contents %d 0 R >>"
            % (6 + 2 * index),
            b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream),
        ]
    data, offsets = b"%PDF-1.4\n", []
    for number, body in enumerate(objects, start=1):
        offsets.append(len(data))
        data += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    head = b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    tail = b"trailer << /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF"
    return data + head + table + tail % (len(objects) + 1, len(data))


def escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("(", "\\(").replace(")", "\\)")


def page(*lines: str, top: float = 780, left: float = 50, size: float = 10) -> list[Placed]:
    """Lines one below the other; an empty one leaves a gap."""
    return [(left, top - 13 * n, size, line) for n, line in enumerate(lines) if line]


def read(*pages: list[Placed]) -> Extracted:
    return PdfExtractor().extract(make_pdf(list(pages)))


def changed(data: bytes, **changes: object) -> bytes:
    writer = PdfWriter(clone_from=PdfReader(io.BytesIO(data)))
    if password := changes.get("password"):
        writer.encrypt(str(password), algorithm="RC4-128")
    if owner := changes.get("owner_password"):
        writer.encrypt("", str(owner), algorithm="RC4-128")
    if info := changes.get("info"):
        writer.add_metadata(info)
    parent = None
    for title, number in changes.get("outline", ()):
        item = writer.add_outline_item(title, number, parent=parent)
        parent = parent or item
    buffer = io.BytesIO()
    writer.write(buffer)
    return buffer.getvalue()


def check(extracted: Extracted) -> None:
    """What holds for every PDF: pages tile the text, blocks are in order and inside a page."""
    text, pages, blocks = extracted.text, extracted.pages, extracted.blocks
    assert [page.number for page in pages] == list(range(1, len(pages) + 1))
    assert pages[0].start == 0
    assert pages[-1].end == len(text)
    for one, other in pairwise(pages):
        assert text[one.end : other.start] == "\n\n"
        assert one.end + 2 == other.start
    for one, other in pairwise(blocks):
        assert one.end <= other.start
    for block in blocks:
        piece = text[block.start : block.end]
        assert piece
        assert piece == piece.strip()
        assert any(page.start <= block.start < block.end <= page.end for page in pages)
    covered = "".join(text[block.start : block.end] for block in blocks)
    assert "".join(covered.split()) == "".join(text.split())


def test_lines_become_paragraphs_and_pages_are_marked() -> None:
    extracted = read(
        page("The harbour was quiet when we came", "in the morning.", "", "A second paragraph."),
        page("On the next page."),
    )
    check(extracted)
    assert extracted.text == (
        "The harbour was quiet when we came in the morning.\n\nA second paragraph.\n\n"
        "On the next page."
    )
    assert [block.kind for block in extracted.blocks] == ["text"] * 3
    assert extracted.metadata["page_count"] == 2
    assert extracted.warnings == ()


@pytest.mark.parametrize(
    ("end", "start", "joined"),
    [
        ("all the infor-", "mation there is", "all the information there is"),
        ("with the Lucene-", "Solr engine", "with the Lucene-Solr engine"),
        ("in the years 1914-", "1918 and after", "in the years 1914-1918 and after"),
        ("a model called GPT-", "4 and others", "a model called GPT-4 and others"),
        ("it came -", "and it went", "it came - and it went"),
    ],
)
def test_a_word_broken_at_a_line_end_is_whole_again(end: str, start: str, joined: str) -> None:
    assert read(page(end, start)).text == joined


def test_a_compound_that_the_document_writes_with_a_hyphen_keeps_it() -> None:
    text = read(
        page("A dual-encoder is a pair. Such a dual-", "encoder is trained for months.")
    ).text
    assert text == "A dual-encoder is a pair. Such a dual-encoder is trained for months."


def test_ligatures_are_spelt_out_and_nothing_else_is() -> None:
    assert tidy("eﬃcient ﬁlm, x² ½ ﬂoor\x00 \x02of  Å") == "efficient film, x² ½ floor of Å"


def test_headers_and_footers_are_removed_where_most_pages_have_them() -> None:
    pages = [
        [
            *page("Annual Report 2024", top=810),
            *page(f"Chapter {word} says something of its own", f"about {word} things."),
            *page(f"Page {number} of 5", top=30),
        ]
        for number, word in enumerate(["apple", "pear", "plum", "cherry", "quince"], start=1)
    ]
    extracted = read(*pages)
    check(extracted)
    assert "Annual" not in extracted.text
    assert "Page" not in extracted.text
    assert extracted.text.count("says something") == 5
    assert "Annual Report 2024" in extracted.metadata["repeated_lines"]


def test_three_pages_are_too_few_to_call_a_line_a_header() -> None:
    pages = [[*page("Annual Report", top=810), *page(f"Body {n}.")] for n in "abc"]
    assert read(*pages).text.count("Annual Report") == 3


def test_the_same_page_over_and_over_is_kept() -> None:
    assert read(*[page("Only this.")] * 5).text.count("Only this.") == 5


LEFT = "left side tells of ships and of the sea"
RIGHT = "right side tells of hills and of snow"


@pytest.mark.parametrize("row_by_row", [False, True])
def test_two_columns_are_read_one_after_the_other(row_by_row: bool) -> None:
    left = [(50.0, 780.0 - 13 * n, 10.0, f"{LEFT} {n}") for n in range(12)]
    right = [(310.0, 780.0 - 13 * n, 10.0, f"{RIGHT} {n}") for n in range(12)]
    rows = [piece for pair in zip(left, right, strict=True) for piece in pair]
    text = read(rows if row_by_row else left + right).text
    assert text.rindex("left side") < text.index("right side")
    assert text.count("left side") == text.count("right side") == 12


def test_a_table_is_read_row_by_row() -> None:
    cells = [(f"Sales of item {n}", f"{n}00.5", f"{n}70.1") for n in range(1, 11)]
    places = (50.0, 310.0, 400.0)
    rows = [
        (x, 780.0 - 13 * n, 10.0, cell)
        for n, row in enumerate(cells)
        for x, cell in zip(places, row, strict=True)
    ]
    assert read(rows).text.split("\n")[:2] == [
        "Sales of item 1 100.5 170.1",
        "Sales of item 2 200.5 270.1",
    ]


def test_the_outline_makes_headings() -> None:
    data = make_pdf(
        [
            page("1 Harbours", "Ships come and go, and nobody", "counts them here."),
            page("More of it.", "", "1.1 Light", "houses", "They shine at night."),
        ]
    )
    outline = [("Harbours", 0), ("1.1 Lighthouses", 1), ("Never written", 1)]
    extracted = PdfExtractor().extract(changed(data, outline=outline))
    check(extracted)
    headings = [
        (block.level, block.title, extracted.text[block.start : block.end])
        for block in extracted.blocks
        if block.kind == "heading"
    ]
    assert headings == [(1, "Harbours", "1 Harbours"), (2, "1.1 Lighthouses", "1.1 Light houses")]


def test_the_document_information_becomes_metadata() -> None:
    info = {
        "/Title": "On Harbours",
        "/Author": "A.\x00 Seaman",
        "/CreationDate": "D:20240131235900+01'00'",
        "/ModDate": "yesterday",
    }
    extracted = PdfExtractor().extract(changed(make_pdf([page("Some words.")]), info=info))
    assert extracted.title == "On Harbours"
    assert extracted.metadata["author"] == "A. Seaman"
    assert extracted.metadata["created"] == "2024-01-31T23:59:00+01:00"
    assert "modified" not in extracted.metadata


@pytest.mark.parametrize(
    "title",
    ["untitled", "Untitled document", "Microsoft Word - x.doc", "C:\\a\\b", "/tmp/x", "a.pdf"],
)
def test_what_is_no_title_is_left_out(title: str) -> None:
    data = changed(make_pdf([page("Some words.")]), info={"/Title": title})
    assert PdfExtractor().extract(data).title == ""


def test_a_password_is_asked_for_in_vain() -> None:
    data = changed(make_pdf([page("Some words.")]), password="secret")
    with pytest.raises(Encrypted, match="password") as caught:
        PdfExtractor().extract(data)
    assert caught.value.code == "encrypted"


def test_a_file_encrypted_without_a_password_is_read() -> None:
    data = changed(make_pdf([page("Some words.")]), owner_password="owner")
    assert PdfExtractor().extract(data).text == "Some words."


def test_pages_without_text_are_listed() -> None:
    extracted = read([], page("Some words."), [])
    check(extracted)
    assert extracted.warnings == ("Pages 1, 3 have no text layer; OCR is switched off.",)
    assert [(one.start, one.end) for one in extracted.pages] == [(0, 0), (2, 13), (15, 15)]


def test_no_text_at_all_says_what_was_tried() -> None:
    with pytest.raises(NoText, match="None of the 3 pages has a text layer; OCR is switched off"):
        read([], [], [])


@pytest.mark.parametrize(
    "data", [b"%PDF-1.7\n", b"no pdf at all", b"%PDF-1.4\n%%EOF", b"\x00" * 99]
)
def test_what_is_no_pdf_is_a_parse_error(data: bytes) -> None:
    with pytest.raises(ParseError, match="damaged"):
        PdfExtractor().extract(data)


def test_an_empty_file_is_said_to_be_empty() -> None:
    with pytest.raises(EmptyFile):
        PdfExtractor().extract(b"")


def test_limits_are_kept() -> None:
    data = make_pdf([page("Some words."), page("Some more.")])
    with pytest.raises(TooComplex, match="2 pages; at most 1") as caught:
        PdfExtractor(max_pages=1).extract(data)
    assert caught.value.code == "too_complex"
    with pytest.raises(TooComplex, match="more than 15 characters"):
        PdfExtractor(max_characters=15).extract(data)


def test_a_truncated_file_ends_as_text_or_as_a_bad_file() -> None:
    data = changed(make_pdf([page("Some words.")] * 3), outline=[("Some", 0)])
    for length in range(1, len(data), 41):
        try:
            check(PdfExtractor().extract(data[:length]))
        except BadFile:
            continue


@settings(max_examples=60, deadline=None)
@given(
    flips=st.lists(st.tuples(st.integers(0, 10_000), st.integers(0, 255)), min_size=1, max_size=20)
)
def test_damaged_bytes_never_end_in_another_error(flips: list[tuple[int, int]]) -> None:
    damaged = bytearray(changed(make_pdf([page("Some words.")] * 2), outline=[("Some words", 0)]))
    for place, value in flips:
        damaged[place % len(damaged)] = value
    try:
        check(PdfExtractor().extract(bytes(damaged)))
    except BadFile:
        return


words = st.text("abc DE-1.(\\", min_size=1, max_size=30)
placed = st.tuples(st.integers(0, 500), st.integers(0, 800), st.sampled_from([8, 10, 20]), words)


@settings(max_examples=60, deadline=None)
@given(pages=st.lists(st.lists(placed, max_size=12), min_size=1, max_size=6))
def test_any_pages_tile_the_text_and_come_out_the_same_twice(pages: list[list[Placed]]) -> None:
    data = make_pdf(pages)
    try:
        extracted = PdfExtractor().extract(data)
    except NoText:
        return
    check(extracted)
    assert extracted == PdfExtractor().extract(data)
    splitter = StructureSplitter(HashingEmbedder().count_tokens, size=12, overlap=3, limit=16)
    for passage in splitter.split(extracted):
        assert any(one.start <= passage.start and passage.end <= one.end for one in extracted.pages)


def test_importing_the_extractor_loads_no_library() -> None:
    code = (
        "import sys, documents.extractors.pdf; "
        "sys.exit(any(name in sys.modules for name in ('pypdf', 'pypdfium2')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
