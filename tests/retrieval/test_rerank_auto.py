"""When `auto` reranks: the table, line by line."""

import pytest

from retrieval.rerankers.auto import TABLE, Decision, Situation, decide

PLAIN = "How hot is the kiln?"


@pytest.mark.parametrize(
    ("situation", "reranks", "reason"),
    [
        (Situation(PLAIN, False, for_answer=True), False, "no_reranker"),
        (Situation("Compare A and B", True, "fast", for_answer=True), False, "fast"),
        (Situation(PLAIN, True, for_answer=True), True, "answer"),
        (Situation(PLAIN, True, "thorough"), True, "thorough"),
        (Situation(PLAIN, True), False, "short"),
        (Situation("ERR_CONN_42", True), False, "short"),
        (Situation("", True), False, "short"),
    ],
)
def test_speed_purpose_and_configuration_come_first(
    situation: Situation, reranks: bool, reason: str
):
    assert decide(situation) == Decision(reranks, reason)


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("What is a kiln? And who built it?", "several_questions"),
        ("窯は何度ですか？誰が作ったのですか？", "several_questions"),
        ("difference between HNSW and IVF", "comparison"),
        ("oak vs. pine", "comparison"),
        ("Which is better for shelves, oak or pine?", "comparison"),
        ("Unterschied zwischen Gas- und Elektroofen", "comparison"),
        ("How do I reset my password and how do I change my address", "several_clauses"),
        ("If the lamp does not turn, where do I find the manual?", "several_clauses"),
        (" ".join(["word"] * 20), "long"),
        ("我" * 40, "long"),
    ],
)
def test_complex_queries_are_reranked(query: str, reason: str):
    assert decide(Situation(query, True)) == Decision(True, reason)


@pytest.mark.parametrize(
    "query",
    [
        "salt and pepper",
        "Where is the lighthouse?",
        "opening hours, harbour office",
        "v2.1.3 release notes",
        "C++ std::vector push_back",
        "annual leave for part-time staff",
        "Wie heiß wird der Ofen?",
        "灯台はどこですか？",
    ],
)
def test_short_factual_queries_are_not(query: str):
    assert decide(Situation(query, True)) == Decision(False, "short")


def test_the_last_line_of_the_table_always_applies():
    assert TABLE[-1].applies(Situation("", True))
    assert len({line.reason for line in TABLE}) == len(TABLE)
