"""Passages that disagree about a value, and pairs that only look as if they did."""

import pytest

from retrieval.answering.values.conflicts import find_conflicts

from .evidence import day, evidence


def sources(*texts, **options):
    titles = ("Handbook", "Warranty page", "Notes")
    return [
        evidence(f"e{n}", text, title=titles[n], as_of=day(2023 + n, 1, 5), start=50 * n, **options)
        for n, text in enumerate(texts)
    ]


def test_a_conflict_names_both_values_their_places_and_dates():
    found = sources("All is well. The warranty lasts 24 months.", "The warranty is 12 months.")
    (conflict,) = find_conflicts("How long is the warranty?", found)
    assert conflict.kind == "conflict"
    assert conflict.message == (
        "The sources disagree: “24 months” (Handbook, as of 2023-01-05) "
        "and “12 months” (Warranty page, as of 2024-01-05)."
    )
    one, two = conflict.values
    assert (one.text, one.evidence_id, one.as_of) == ("24 months", "e0", day(2023, 1, 5))
    assert found[0].text[one.start : one.end] == "24 months"
    assert found[1].text[two.start - 50 : two.end - 50] == "12 months"


@pytest.mark.parametrize(
    ("question", "one", "two"),
    [
        (
            "When was Acme founded?",
            "Acme was founded in 1998 in Berlin.",
            "Acme Corp. was founded in 2001.",
        ),
        (
            "How many days of leave?",
            "Employees get 25 days of leave.",
            "Employees receive 30 days of leave.",
        ),
        (
            "What is the interest rate?",
            "The interest rate is 5 %.",
            "The interest rate is 4.5 percent.",
        ),
        (
            "When does the contract end?",
            "The contract ends on 12 March 2024.",
            "The contract ends on 2024-04-12.",
        ),
        (
            "Wie lange gilt die Garantie?",
            "Die Garantie gilt 24 Monate.",
            "Die Garantie gilt 3 Jahre.",
        ),
        (
            "What does it cost?",
            "It costs $5 a month and holds 10 users.",
            "It costs $7 a month and holds 10 users.",
        ),
    ],
)
def test_conflicts_of_all_kinds_are_found(question, one, two):
    assert len(find_conflicts(question, sources(one, two))) == 1


@pytest.mark.parametrize(
    ("question", "one", "two"),
    [
        (
            "How long is the warranty?",
            "The warranty lasts 24 months.",
            "The warranty lasts two years.",
        ),
        (
            "How long is the warranty?",
            "The warranty of Model A is 24 months.",
            "The warranty of Model B is 12 months.",
        ),
        ("What was revenue?", "In 2022 revenue was $5 million.", "In 2023 revenue was $6 million."),
        ("What is the fee?", "The minimum fee is $5.", "The maximum fee is $50."),
        ("What is the fee?", "The warranty is 24 months.", "The warranty is 12 months."),
        ("How long is the warranty?", "The warranty lasts 24 months.", "The warranty costs $12."),
        (
            "How long is the warranty?",
            "The warranty is 12 or 24 months.",
            "The warranty is 36 months.",
        ),
        (
            "What was revenue?",
            "In July 2022, revenue rose by 5 %.",
            "In June 2021, revenue rose by 5 %.",
        ),
        ("What is the price?", "| Alpha | price $5 |", "| Beta | price $7 |"),
        (
            "How fast does machine 3 run?",
            "At full load Machine 3 runs at 350 turns a minute.",
            "At full load Machine 1 runs at 150 turns a minute.",
        ),
        (
            "How long is the warranty?",
            "The warranty lasts 24 months. The old warranty lasted 12 months.",
            "The warranty lasts 12 months.",
        ),
    ],
)
def test_what_only_looks_like_a_conflict_is_none(question, one, two):
    assert not find_conflicts(question, sources(one, two))


def test_numbers_in_names_are_not_values():
    texts = [f"Machine {n} runs at {n}50 turns a minute." for n in (1, 3)]
    question = "How fast does machine 3 run?"
    found = [evidence(f"e{n}", t, title=t[:9]) for n, t in enumerate(texts)]
    assert not find_conflicts(question, found)
    same = ["Machine 3 runs at 350 turns a minute.", "Machine 3 runs at 450 turns a minute."]
    found = [evidence(f"e{n}", t, title=f"Machine 3, {n}") for n, t in enumerate(same)]
    assert len(find_conflicts(question, found)) == 1
    recipe = [evidence(f"e{n}", f"Add {n} eggs to the dough.", title=f"Dough {n}") for n in (3, 4)]
    assert len(find_conflicts("How many eggs does the dough need?", recipe)) == 1


def test_one_document_does_not_contradict_itself():
    one, two = sources("The warranty lasts 24 months.", "The warranty is 12 months.")
    same = evidence("e1", two.text, document_id=one.hit.candidate.document_id)
    assert not find_conflicts("How long is the warranty?", [one, same])


def test_reports_of_other_years_give_other_figures():
    texts = "Comparable sales grew by 5 %.", "Comparable sales grew by 7 %."
    for titles, count in ((("Report 2022", "Report 2023"), 0), (("Report", "Summary"), 1)):
        found = [evidence(f"e{n}", t, title=titles[n]) for n, t in enumerate(texts)]
        assert len(find_conflicts("How much did comparable sales grow?", found)) == count


def test_repeated_conflicts_are_told_once():
    texts = [
        "The warranty lasts 24 months.",
        "The warranty is 12 months.",
        "The warranty: 12 months.",
    ]
    assert len(find_conflicts("How long is the warranty?", sources(*texts))) == 1
