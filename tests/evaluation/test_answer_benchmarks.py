"""How the answer and filing benchmarks score; what they run is tried by running them."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from documents.embedders.hashing import HashingEmbedder
from evaluation.benchmarks.data import quoting
from evaluation.benchmarks.data.quoting import (
    Contexts,
    QuotedQuestion,
    cut_to_budget,
    header_of_rows,
    load_questions,
    misses,
    report,
    table_rows,
)
from evaluation.benchmarks.data.vectors import KeptVectors
from evaluation.benchmarks.search import filings

ROWS = [
    {
        "id": "a",
        "doc": "x.md",
        "type": "prose",
        "question": "?",
        "quote": "one\n two",
        "also": ["2"],
    },
    {"id": "b", "doc": "x.md", "type": "multi", "question": "??", "quotes": ["three", "four"]},
]


@pytest.fixture
def questions(tmp_path: Path) -> list[QuotedQuestion]:
    path = tmp_path / "questions.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return load_questions(path)


def test_a_question_is_answered_by_its_quote_an_alternative_or_all_of_its_quotes(
    questions: list[QuotedQuestion],
):
    one, several = questions
    assert one.is_answered_by("zero one  two three")
    assert one.is_answered_by("chapter 2")
    assert not one.is_answered_by("onetwo")
    assert several.is_answered_by("four, three")
    assert not several.is_answered_by("three")


def words_end(text: str) -> list[int]:
    ends, at = [], 0
    for word in text.split():
        at = text.index(word, at) + len(word)
        ends.append(at)
    return ends


def test_passages_are_cut_at_the_budget_in_the_order_of_their_rank():
    passages = ["one two", "three four five", "six"]
    assert cut_to_budget(passages, 6, token_ends=words_end) == (
        "one two\n\nthree four five\n\nsix",
        6,
    )
    assert cut_to_budget(passages, 4, token_ends=words_end) == ("one two\n\nthree four", 4)
    assert cut_to_budget(passages, 2, token_ends=words_end) == ("one two", 2)
    assert cut_to_budget(passages, 99, token_ends=words_end)[1] == 6
    assert cut_to_budget([], 5, token_ends=words_end) == ("", 0)


TABLE = """Some text | with a bar.

| Name   | Years |
|--------|------:|
| Lamp   | 5     |
| Shade  | 2     |

| Other | Rows |
|---|---|
| Kit | 1 |
"""


def test_rows_are_counted_with_the_header_of_their_own_table_in_their_own_block():
    headers = header_of_rows([TABLE])
    assert headers == {
        "| Lamp | 5 |": {"| Name | Years |"},
        "| Shade | 2 |": {"| Name | Years |"},
        "| Kit | 1 |": {"| Other | Rows |"},
    }
    assert [found for _, found in table_rows(f"[1] Title\n{TABLE}", headers)] == [True] * 3
    bare = "[1] Title\n| Lamp   | 5     |\n\n[2] Title\n| Name | Years |\n| Shade | 2 |"
    assert table_rows(bare, headers) == [("| Lamp | 5 |", False), ("| Shade | 2 |", True)]
    assert table_rows("no table", headers) == []


def test_the_report_has_every_system_its_interval_and_each_type(questions: list[QuotedQuestion]):
    ours = Contexts("ours", {"a": "one two", "b": "three four"}, {"a": 2, "b": 4})
    theirs = Contexts("theirs", {"a": "one two", "b": "three"}, {"a": 2, "b": 1})
    lines = list(report(questions, [("At 4 tokens", [ours, theirs])]))
    assert lines[1].endswith("| prose (1) | multi (1) |")
    assert lines[3] == "| ours | 1.000 [1.000, 1.000] | 3 |  | 1.000 | 1.000 |"
    assert lines[4].startswith("| theirs | .500 [")
    assert "| 2 | +0.500 [" in lines[4]
    assert list(misses(questions, ours)) == []
    assert list(misses(questions, theirs)) == ["- b (x.md): ??", "    missing: four"]


def test_evidence_is_found_by_its_page_in_its_own_filing(tmp_path: Path):
    path = tmp_path / "questions.jsonl"
    row = {"filing": "ACME", "question": "?", "evidence": [{"page": 7}, {"page": 9}]}
    path.write_text(json.dumps(row) + "\n")
    (question,) = filings.load_questions(path)
    assert (question.filing, question.pages) == ("ACME", {7, 9})
    results = [
        {"document_id": "other", "page": 7},
        {"document_id": "mine", "page": None},
        {"document_id": "mine", "page": 9},
    ]
    assert filings.rank_of_evidence(results, "mine", question.pages) == 3
    assert filings.rank_of_evidence(results[:2], "mine", question.pages) is None
    shown = filings.row("inside", [3, None])
    assert shown.split(" | ")[1:3] == [
        "0.000 [0.000, 0.000]".replace("0.", "."),
        quoting.share([1, 0]),
    ]


def test_kept_vectors_are_found_from_the_threads_that_embed(tmp_path: Path):
    kept = KeptVectors(HashingEmbedder(dimensions=16), directory=tmp_path)
    texts = ["one", "two", "one"]
    with ThreadPoolExecutor(2) as threads:
        first, second = threads.map(kept.of, (texts, texts))
    assert (first == second).all()
    assert (first[0] == first[2]).all()
