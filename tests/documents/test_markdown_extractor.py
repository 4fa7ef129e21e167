"""Markdown: front matter apart, blocks where they lie, and no hostile file hangs it."""

import json
from collections.abc import Callable

import pytest

from documents.errors import NoText
from documents.extractors import extractor_for
from documents.extractors.markup.front_matter import json_safe
from documents.passages import Block, Extracted

from ..linear_time import assert_grows_linearly


def extract(source: str) -> Extracted:
    return extractor_for("text/markdown").extract(source.encode())


def blocks(source: str) -> list[tuple[str, str]]:
    extracted = extract(source)
    return [(block.kind, extracted.text[block.start : block.end]) for block in extracted.blocks]


def headings(source: str) -> list[tuple[int, str]]:
    return [(b.level, b.title) for b in extract(source).blocks if b.kind == "heading"]


def test_headings_of_both_kinds_with_their_words() -> None:
    source = "# A *b* `c` [d](e) ![f *g*](h) &amp; \\* ##\n\nSet\n**ext**\n---\n\n###\n\n#not\n"
    assert headings(source) == [(1, "A b c d f g & *"), (2, "Set ext"), (3, "")]


def test_code_fenced_and_indented_with_its_language() -> None:
    source = "```python title=x\nprint(1)\n\n```\n\n    indented\n\n~~~\nopen"
    assert blocks(source) == [
        ("code", "```python title=x\nprint(1)\n\n```"),
        ("code", "indented"),
        ("code", "~~~\nopen"),
    ]
    assert [block.language for block in extract(source).blocks] == ["python", "", ""]


def test_tables_lists_quotes_and_html() -> None:
    source = "| a | b |\n|---|---|\n| c | d |\n\n1. x\n2. y\n\n> q\n\n<div>\nhtml\n</div>\n\n***\n"
    assert blocks(source) == [
        ("table", "| a | b |\n|---|---|\n| c | d |"),
        ("list", "1. x\n2. y"),
        ("text", "> q"),
        ("text", "<div>\nhtml\n</div>"),
        ("text", "***"),
    ]


def test_what_is_inside_a_list_stays_in_it() -> None:
    source = "- a\n\n  ```js\n  x\n  ```\n\n  # no heading\n\n  | a |\n  |---|\n- b"
    assert blocks(source) == [("list", source)]


def test_link_definitions_are_text_although_they_make_no_tokens() -> None:
    source = "See [one].\n\n[one]: http://a.b\n[two]: http://c.d\n\nEnd.\n\n[three]: x"
    assert [text for _, text in blocks(source)] == [
        "See [one].",
        "[one]: http://a.b\n[two]: http://c.d",
        "End.",
        "[three]: x",
    ]


def test_only_the_line_feed_ends_a_line() -> None:
    source = "one\x0b\x0c\x1c\x85\u2028\u2029one\n\n# two\r\n\r\nthree\rthree"
    assert blocks(source) == [
        ("text", "one\x0b\x0c\x1c\x85\u2028\u2029one"),
        ("heading", "# two"),
        ("text", "three\nthree"),
    ]


def test_a_paragraph_above_a_rule_is_no_heading() -> None:
    assert [kind for kind, _ in blocks("words " * 100 + "\n===\n\nEnd")] == ["text", "text"]


def test_front_matter_is_taken_apart() -> None:
    extracted = extract(
        "---\ntitle:  The\n  title\ntags: [b, ' a ', b, 3, null]\ndate: 2024-02-03\nauthor: Ann\n"
        "---\n\n# Heading\n"
    )
    assert extracted.text == "# Heading\n"
    assert (extracted.title, extracted.tags) == ("The title", ("b", "a", "3"))
    assert extracted.metadata == {"date": "2024-02-03", "author": "Ann"}
    assert extracted.blocks == (Block("heading", 0, 9, level=1, title="Heading"),)


def test_tags_may_be_a_comma_separated_string() -> None:
    assert extract("---\ntags: x, y y ,,x\n---\ntext").tags == ("x", "y y")


@pytest.mark.parametrize("tags", ["", "{a: b}", "[]"])
def test_tags_of_another_kind_are_none(tags: str) -> None:
    assert extract(f"---\ntags: {tags}\n---\ntext").tags == ()


def test_the_title_is_the_front_matters_or_the_first_h1s_or_nothing() -> None:
    assert extract("---\ntitle: 2024\n---\n# One").title == "2024"
    assert extract("---\ntitle: [no]\n---\n## Zero\n\n#\n\n# One\n\n# Two").title == "One"
    assert extract("## Only a second level").title == ""


def test_metadata_is_safe_for_json_and_for_postgres() -> None:
    extracted = extract(
        "---\nnan: .nan\nwhen: 2024-01-02 03:04:05\nset: !!set {b, a}\n1: one\nnull: nothing\n"
        'nul: "a\\0b\\ud800"\nbytes: !!binary aGVsbG8=\nhuge: 123456789012345678901\n'
        "pairs: !!omap [{a: 1}]\ndeep: {a: {b: {c: {d: {e: {f: {g: {h: {i: 1}}}}}}}}}\n---\ntext"
    )
    stored = json.loads(json.dumps(dict(extracted.metadata), allow_nan=False))
    assert stored == extracted.metadata
    assert stored["nan"] == "nan"
    assert stored["when"] == "2024-01-02T03:04:05"
    assert stored["set"] == ["a", "b"]
    assert (stored["1"], stored["null"]) == ("one", "nothing")
    assert stored["nul"] == "ab\ufffd"
    assert stored["bytes"] == "aGVsbG8="
    assert stored["huge"] == "123456789012345678901"
    assert stored["pairs"] == [["a", 1]]


def test_a_value_of_an_unknown_kind_becomes_its_string() -> None:
    assert json_safe(complex(1, 2)) == "(1+2j)"


@pytest.mark.parametrize(
    "yaml",
    [
        "title: a: b",
        "date: 2024-13-45",
        "a: " + "[" * 5000,
        "a: &a [x]\nb: *a",
        "a: !!python/object:os.system x",
        "big: " + "x" * 70_000,
    ],
)
def test_front_matter_that_cannot_be_read_stays_text(yaml: str) -> None:
    source = f"---\n{yaml}\n---\n# Heading\n\nBody."
    extracted = extract(source)
    assert extracted.text == source
    assert "front matter" in extracted.warnings[0]
    assert [block.title for block in extracted.blocks if block.kind == "heading"] == ["Heading"]


def test_rules_around_prose_are_no_front_matter() -> None:
    for source in ("---\n\nProse: with: colons.\n\n---\n\nMore.", "---\nprose\n\n---\nx", "---\nx"):
        extracted = extract(source)
        assert extracted.text == source
        assert extracted.warnings == ()


def test_empty_front_matter_keeps_the_indent_of_what_follows() -> None:
    assert blocks("---\n---\n    code") == [("code", "code")]


def test_front_matter_alone_is_no_text() -> None:
    with pytest.raises(NoText, match="front matter"):
        extract("---\ntitle: x\n---\n\n")


@pytest.mark.parametrize(
    "hostile",
    [
        lambda size: "[" * (size * 250),
        lambda size: ">" * (size * 250),
        lambda size: "> " * (size * 125),
        lambda size: "- " * (size * 125) + "x",
        lambda size: "`" * (size * 250),
        lambda size: "*a_" * (size * 75),
        lambda size: "# " + "[![" * (size * 75),
        lambda size: "[a]: <" * (size * 50),
        lambda size: "|" * (size * 250),
        lambda size: "word " * (size * 1500),
    ],
)
def test_hostile_markdown_takes_linear_time(hostile: Callable[[int], str]) -> None:
    assert extract(hostile(400)).blocks
    assert_grows_linearly(extract, hostile(100), hostile(400))


@pytest.mark.parametrize(
    "nested",
    [
        lambda depth: "\n".join(" " * (2 * level) + "- a" for level in range(depth)),
        lambda depth: "\n".join(">" * level + " a" for level in range(depth)),
        lambda width: "|a" * width + "\n" + "|-" * width + "\n" + "x\n" * width,
    ],
    ids=["lists", "quotations", "table"],
)
def test_deep_and_wide_markdown_takes_time_by_its_size(nested: Callable[[int], str]) -> None:
    """Twice the depth is four times the text, or four times the cells."""
    assert extract(nested(300)).blocks
    assert_grows_linearly(extract, nested(150), nested(300))


def test_markdown_of_too_many_pieces_is_read_as_paragraphs() -> None:
    extracted = extract("# Title\n\n" + "|a" * 250_000)
    assert {block.kind for block in extracted.blocks} == {"text"}
    assert "too large" in extracted.warnings[0]
