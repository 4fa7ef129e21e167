"""HTML: the readable part, its structure, its spans, and pages that mean harm."""

import json
import socket
import subprocess
import sys

import pytest

from documents.errors import EmptyFile, NoText, ParseError
from documents.extractors.html.extractor import HtmlExtractor
from documents.passages import Block, Extracted

LONG = (
    "This sentence is long enough to be taken for the text of an article by any heuristic, twice. "
)

PAGE = f"""<!DOCTYPE html><html lang="en-GB"><head><title>Pumps and their care</title>
<link rel="canonical" href="https://example.org/pumps">
<meta name="author" content="Ada Byron"><meta name="description" content="All about pumps.">
<meta property="article:published_time" content="2024-03-05T10:00:00Z"></head><body>
<nav><ul><li><a href="/">Home</a></li><li><a href="/shop">Shop</a></li></ul></nav>
<article><h1 id="pumps">Pumps</h1><p>{LONG * 2}</p>
<section id="care"><h2>Care <a class="headerlink" href="#care">¶</a></h2><p>{LONG}</p>
<ul><li>Clean it<ul><li>with water</li></ul></li><li>Dry it</li></ul>
<ol><li>Open</li><li>Close</li></ol></section>
<h2><a name="figures"></a>Figures</h2>
<table><thead><tr><th>Model</th><th>Flow</th></tr></thead>
<tr><td>A|1</td><td>10</td></tr><tr><td>B2</td><td>20</td></tr></table>
<h3>Code</h3><p>{LONG}</p>
<pre><code class="language-python">def flow(pump):
    return <span class="k">pump</span>.rate

x = 1
</code></pre><p>{LONG}</p></article>
<footer>Imprint and privacy</footer><script>alert("no")</script></body></html>"""


def extract(page: str | bytes) -> Extracted:
    return HtmlExtractor().extract(page.encode() if isinstance(page, str) else page)


def text_of(extracted: Extracted, block: Block) -> str:
    return extracted.text[block.start : block.end]


def of_kind(extracted: Extracted, kind: str) -> list[str]:
    return [text_of(extracted, block) for block in extracted.blocks if block.kind == kind]


def assert_blocks_are_exact(extracted: Extracted) -> None:
    """In order, apart, without blanks at their ends, and with nothing but blanks between them."""
    done = 0
    for block in extracted.blocks:
        assert done <= block.start < block.end <= len(extracted.text)
        assert not extracted.text[done : block.start].strip()
        assert text_of(extracted, block) == text_of(extracted, block).strip() != ""
        if block.kind == "heading":
            assert block.title in text_of(extracted, block)
        done = block.end
    assert not extracted.text[done:].strip()
    json.dumps([dict(extracted.metadata), [dict(block.attributes) for block in extracted.blocks]])
    extracted.text.encode()  # no lone surrogates
    assert "\x00" not in extracted.text


@pytest.fixture(scope="module")
def page() -> Extracted:
    return extract(PAGE)


def test_blocks_lie_where_they_say(page):
    assert_blocks_are_exact(page)
    assert page.warnings == ()


def test_menus_footers_and_scripts_are_gone(page):
    for boilerplate in ("Shop", "Imprint", "alert", "¶"):
        assert boilerplate not in page.text


def test_headings_keep_their_level_and_the_fragment_that_leads_to_them(page):
    headings = [
        (b.level, b.title, b.attributes.get("url_fragment")) for b in page.blocks if b.level
    ]
    assert headings == [
        (1, "Pumps", "pumps"),
        (2, "Care", "care"),
        (2, "Figures", "figures"),
        (3, "Code", None),
    ]


def test_lists_are_one_block_each_with_their_nesting(page):
    assert of_kind(page, "list") == ["- Clean it\n  - with water\n- Dry it", "1. Open\n2. Close"]


def test_a_table_is_markdown_with_its_header_first(page):
    expected = "| Model | Flow |\n| --- | --- |\n| A\\|1 | 10 |\n| B2 | 20 |"
    assert of_kind(page, "table") == [expected]


def test_code_keeps_its_lines_and_its_language(page):
    expected = "```python\ndef flow(pump):\n    return pump.rate\n\nx = 1\n```"
    assert of_kind(page, "code") == [expected]
    assert [b.language for b in page.blocks if b.kind == "code"] == ["python"]


def test_the_page_says_what_it_is(page):
    assert page.title == "Pumps"
    assert page.metadata["canonical_url"] == "https://example.org/pumps"
    assert page.metadata["author"] == "Ada Byron"
    assert page.metadata["date"] == "2024-03-05"
    assert page.metadata["language"] == "en-GB"
    assert page.metadata["description"] == "All about pumps."


def test_the_same_page_reads_the_same_twice(page):
    assert extract(PAGE) == page


def test_a_small_page_is_kept_whole_but_for_its_furniture():
    extracted = extract("<nav>Menu</nav><h1>Hello</h1><p>World</p><footer>Imprint</footer>")
    assert extracted.text == "# Hello\n\nWorld"
    assert "whole page" in extracted.warnings[0]
    assert_blocks_are_exact(extracted)


def test_hidden_text_is_not_read_unless_it_is_the_page():
    hidden = f'<p>{LONG * 4}</p><div style="display: none"><p>Secret words</p></div>'
    assert "Secret" not in extract(hidden).text
    assert "Secret" in extract("<div hidden><p>Secret words of a page</p></div>").text


def test_headings_that_readability_drops_come_back():
    page = "".join(f"<h3 id=s{n}>Part {n}</h3><p>Number {n}. {LONG}</p>" for n in range(4))
    extracted = extract(f"<nav><a href=/>Home</a></nav><div>{page}</div>")
    assert [b.title for b in extracted.blocks if b.kind == "heading"] == [
        f"Part {n}" for n in range(4)
    ]


def test_spanning_cells_keep_the_columns_straight():
    rows = "<tr><th>a<th>b<th>c</tr><tr><td rowspan=2>x<td>1<td>2</tr><tr><td>3<td>4</tr>"
    rows += "<tr><td colspan=2>wide<td>5</tr>"
    assert of_kind(extract(f"<table>{rows}</table>"), "table") == [
        "| a | b | c |\n| --- | --- | --- |\n| x | 1 | 2 |\n| x | 3 | 4 |\n| wide |  | 5 |"
    ]


def test_a_layout_table_is_read_as_what_it_holds():
    inner = "<table><tr><th>k<th>v</tr><tr><td>a<td>1</tr></table>"
    extracted = extract(f"<table><tr><td><h2>Left</h2></td><td>{inner}</td></tr></table>")
    assert [block.kind for block in extracted.blocks] == ["heading", "table"]


def test_line_breaks_stay_and_two_of_them_part_paragraphs():
    extracted = extract("<p>one<br>two<br><br>three</p>")
    assert of_kind(extracted, "text") == ["one\ntwo", "three"]


@pytest.mark.parametrize(
    "data",
    [
        "\ufeff<p>naïve café</p>".encode(),
        "<p>naïve café</p>".encode("utf-16"),
        '<meta charset="iso-8859-1"><p>naïve café</p>'.encode("cp1252"),
        '<?xml version="1.0" encoding="windows-1252"?><p>naïve café</p>'.encode("cp1252"),
        '<meta charset="no-such"><p>naïve café</p>'.encode("cp1252"),
        '<meta charset="iso-8859-1"><p>naïve café</p>'.encode(),  # it lies
        "<p>naïve café</p>".encode("cp1252"),
    ],
)
def test_any_encoding_is_read(data):
    assert extract(data).text == "naïve café"


def test_a_declared_encoding_is_believed():
    source = '<meta http-equiv="Content-Type" content="text/html; charset={}"><p>{}</p>'
    assert extract(source.format("shift_jis", "日本語").encode("shift_jis")).text == "日本語"
    assert extract(source.format("iso-2022-jp", "日本語").encode("iso-2022-jp")).text == "日本語"
    assert extract(source.format("windows-1251", "Привет").encode("cp1251")).text == "Привет"


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (b"", EmptyFile),
        (b" \n ", NoText),
        (b"<!-- nothing -->", NoText),
        (b"<script>1</script><style>p{}</style>", NoText),
        (b"<div>" * 5000 + b"deep", ParseError),
    ],
)
def test_what_cannot_be_read_is_refused(data, error):
    with pytest.raises(error):
        extract(data)


def test_entities_expand_to_nothing_and_fetch_nothing(monkeypatch):
    monkeypatch.setattr(socket, "socket", None)
    bomb = '<!DOCTYPE html [<!ENTITY a "ha"><!ENTITY b "&a;&a;"><!ENTITY f SYSTEM "file:///etc/hosts">]>'
    extracted = extract(f"{bomb}<p>&b; &f; end <img src=http://example.org/x.png></p>")
    assert extracted.text == "&b; &f; end"


@pytest.mark.parametrize(
    "markup",
    [
        "<ul><li>x" * 3000,
        "<table><tr><td>x" * 3000,
        "<h1>a" * 3000,
        "<table>" + "<tr><td rowspan=60000 colspan=60000>a<td>b" * 500 + "</table>",
        "<p>a\x00b&#0;&#xD800;</p>",
        "<p>" + "a<br>" * 5000,
        f"<h1 id='a&#1;'>\x02<a>#</a>\x03t</h1><p>{LONG * 4}</p><pre>\x01a\nb&#2;</pre>\x04"
        f"<p hidden>x</p>\x05<nav>y</nav>\x06<p>{LONG}</p>",
        "</p></div><td>loose<li>ends",
    ],
)
def test_odd_markup_does_no_harm(markup):
    extracted = extract(markup)
    assert_blocks_are_exact(extracted)
    assert len(extracted.text) < 20 * len(markup) + 1000


def test_a_fence_is_longer_than_any_in_the_code():
    extracted = extract("<pre>```\nnested\n```</pre>")
    assert extracted.text == "````\n```\nnested\n```\n````"


def test_a_page_that_needs_too_much_memory_says_so():
    """In a process of its own, whose memory is limited as in the sandbox."""
    program = """if True:
        import resource
        from documents.extractors.html.page_source import parse_page
        page = "<html><body>" + "<p>a <b>b</b> <i>c</i></p>" * 300_000
        used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + 100 * 2**20,) * 2)
        try:
            parse_page(page)
        except MemoryError:
            print("MemoryError")
    """
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.stdout.strip() == "MemoryError", done.stderr[-500:]
