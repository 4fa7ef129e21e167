"""What an answer says about itself when it is empty, or when the question was read otherwise."""

import pytest

from ..client import Api


def notes(api: Api, question: str, **options: object) -> list[str]:
    answer = api.query(question, **options)
    assert answer.status == 200, answer.body
    return [note.partition(":")[0] for note in answer.body["diagnostics"]["notes"]]


def test_an_answer_that_needs_no_explanation_has_no_note(library: Api):
    assert notes(library, "how often did the lamp turn?") == []


def test_an_empty_result_says_that_nothing_matches(library: Api):
    answer = library.query("zeppelin", mode="lexical").body
    assert answer["results"] == []
    assert answer["diagnostics"]["notes"][0] == "no_results: No matching documents found"


def test_an_empty_namespace_says_so(api: Api):
    note = api.query("anything").body["diagnostics"]["notes"][0]
    assert note.startswith("no_results: No matching documents found: the namespace")


def test_a_threshold_that_refuses_everything_is_named(library: Api):
    (note,) = library.query("lamp", threshold={"vector": 2.0}).body["diagnostics"]["notes"]
    assert note.startswith("no_results:")
    assert note.endswith("below the threshold")


def test_a_token_budget_that_nothing_fits_into_is_named(library: Api):
    answer = library.query("how often did the lamp turn?", token_budget=1).body
    assert answer["results"] == []
    assert answer["context"]["text"] == ""
    (note, *_) = answer["diagnostics"]["notes"]
    assert note.startswith("token_budget_too_small:")
    assert "1 tokens" in note
    assert notes(library, "how often did the lamp turn?", token_budget=2000) == []


def test_exclusions_alone_and_short_prefixes_are_explained(library: Api):
    assert notes(library, "-harbour") == ["only_exclusions"]
    assert notes(library, "lamp -harbour") == []
    assert notes(library, "har* lamp") == ["prefix_too_short"]
    assert notes(library, "harb* lamp") == []


@pytest.mark.parametrize(
    "filters",
    [
        {"tags": []},
        {"tags": {"all": []}},
        {"document_ids": []},
        {"source_types": []},
        {"language": []},
        {"kind": []},
        {"kind": ["text"], "tags": []},
    ],
)
def test_an_empty_list_in_a_filter_matches_nothing(library: Api, filters: dict[str, object]):
    answer = library.query("lamp", filters=filters).body
    assert answer["results"] == []
    assert [n.partition(":")[0] for n in answer["diagnostics"]["notes"]] == [
        "empty_filter",
        "no_results",
    ]


def test_an_empty_list_that_excludes_excludes_nothing(library: Api):
    everything = library.query("lamp").body["results"]
    for filters in ({"tags": {"none": []}}, {"metadata": {"author": {"$nin": []}}}, {}):
        assert len(library.query("lamp", filters=filters).body["results"]) == len(everything)
    assert library.query("lamp", filters={"metadata": {"author": []}}).body["results"] == []
