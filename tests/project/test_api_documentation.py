"""The page of the API's documentation: one line for each call, what everybody needs first."""

from collections.abc import Callable
from typing import Any

import pytest
from drf_spectacular.generators import SchemaGenerator

from ..client import Api
from .import_graph import ROOT

SAMPLE = ROOT / "documents" / "samples" / "warranty-and-returns.md"


@pytest.fixture(scope="module")
def schema() -> Any:
    return SchemaGenerator().get_schema(request=None, public=True)


def operations(schema: Any) -> list[tuple[str, Any]]:
    return [
        (f"{method} {path}", operation)
        for path, methods in schema["paths"].items()
        for method, operation in methods.items()
    ]


def test_every_operation_has_a_summary_of_one_line(schema: Any):
    for name, operation in operations(schema):
        summary = operation["summary"]
        assert 3 < len(summary) <= 100, name
        assert "\n" not in summary, name
        assert not summary.endswith("."), name
        assert "cursor-paged" not in operation.get("description", ""), name
        assert "operator role" not in operation.get("description", ""), name


def test_ingest_and_query_come_first(schema: Any):
    tags = [tag["name"] for tag in schema["tags"]]
    assert tags[:3] == ["ingest", "query", "answer"]
    assert {tag for _, one in operations(schema) for tag in one["tags"]} == set(tags)


def test_the_example_finds_something_in_the_samples(schema: Any, api: Api, work: Callable[[], int]):
    api.upload(("warranty-and-returns.md", SAMPLE.read_text()))
    assert work() == 1
    content = schema["paths"]["/api/v1/query"]["post"]["requestBody"]["content"]
    (example,) = content["application/json"]["examples"].values()
    answer = api.post("query", example["value"])
    assert answer.status == 200
    assert "warranty" in str(answer.body["results"]).lower()
