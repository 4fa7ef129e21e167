"""JSON and JSON Lines as readable text."""

import json

import pytest

from documents.errors import EmptyFile, NoText, ParseError, TooComplex
from documents.extractors.data.structured import JsonExtractor
from tests.documents.test_html_extractor import assert_blocks_are_exact


def extract(value, name=""):
    data = value if isinstance(value, bytes) else json.dumps(value).encode()
    extracted = JsonExtractor().extract(data, name=name)
    assert_blocks_are_exact(extracted)
    return extracted


def test_nested_keys_are_paths_and_lists_of_values_one_line():
    extracted = extract({"name": "Ann", "home": {"city": "Oslo"}, "tags": ["a", "b"], "ok": True})
    assert extracted.text == "name: Ann\nhome.city: Oslo\ntags: a, b\nok: true"


def test_objects_in_a_list_are_a_paragraph_each():
    extracted = extract({"items": [{"id": 1, "n": "x"}, {"id": 2, "n": None}]})
    assert extracted.text == ("items[0].id: 1\nitems[0].n: x\n\nitems[1].id: 2\nitems[1].n: null")


def test_a_list_of_records_numbers_them():
    extracted = extract([{"a": 1}, {"a": 2}])
    assert extracted.text == "a: 1\n\na: 2"
    assert [block.attributes for block in extracted.blocks] == [{"record": 1}, {"record": 2}]


@pytest.mark.parametrize("name", ["x.jsonl", "x.json"])
def test_json_lines_are_recognised_by_name_or_content(name):
    extracted = extract(b'{"a": 1}\n\n{"a": "two"}\n', name=name)
    assert extracted.text == "a: 1\n\na: two"
    assert [block.attributes["record"] for block in extracted.blocks] == [1, 2]


def test_numbers_stay_as_written():
    digits = "9" * 6000
    assert extract(f'{{"n": {digits}, "x": 1.10, "y": NaN}}'.encode()).text == (
        f"n: {digits}\n\nx: 1.10\ny: NaN"
    )


def test_long_objects_are_several_paragraphs():
    extracted = extract({f"key{n}": "value " * 5 for n in range(100)})
    assert len(extracted.blocks) > 3


def test_lone_surrogates_are_cleaned():
    extract(b'{"a": "x\\ud800y"}').text.encode()


def test_deep_nesting_is_read_or_refused_but_never_crashes():
    assert "leaf" in extract(b'{"a":' * 200 + b'"leaf"' + b"}" * 200).text
    with pytest.raises(TooComplex):
        extract(b"[" * 200_000 + b"]" * 200_000)


@pytest.mark.parametrize(
    ("data", "line"), [(b'{"a": 1,\n"b": }', "line 2"), (b'{"a": 1}\n{"b": \n', "line 2")]
)
def test_malformed_json_says_where(data, line):
    with pytest.raises(ParseError, match=line):
        extract(data)


@pytest.mark.parametrize(
    ("data", "error"), [(b"", EmptyFile), (b" ", NoText), (b"{}", NoText), (b"[]", NoText)]
)
def test_nothing_to_read(data, error):
    with pytest.raises(error):
        extract(data)
