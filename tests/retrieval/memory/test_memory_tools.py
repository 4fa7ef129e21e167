"""remember, recall and forget, as agents call them."""

import pytest

from documents.memory.statements import StatedFact
from documents.memory.writing import remember
from documents.models import Fact, Namespace
from ragsite.database.tenancy import namespace
from retrieval.tools.base import ToolContext
from retrieval.tools.calling import call_tool

from ..tool_calls import refusal


def test_what_is_remembered_is_recalled_until_it_is_forgotten(context: ToolContext):
    said = {"subject": "Ann", "predicate": "lives in"}
    first = call_tool(context, "remember", {**said, "object": "Oslo", "valid_from": "2020-01-01"})
    assert first.result["outcome"] == "created"
    second = call_tool(context, "remember", {**said, "object": "Rome"})
    assert second.result["closed"] == [first.result["fact"]["id"]]
    question = {"query": "Where does Ann live?", "subject": "ann"}
    found = call_tool(context, "recall", question)
    assert [fact["object"] for fact in found.result["facts"]] == ["Rome"]
    then = call_tool(context, "recall", {**question, "as_of": "2021-06-01"})
    assert [fact["object"] for fact in then.result["facts"]] == ["Oslo"]
    now = call_tool(context, "recall", {**question, "as_of": "now"})
    assert [fact["object"] for fact in now.result["facts"]] == ["Rome"]
    wrong = {"fact_id": second.result["fact"]["id"]}
    assert call_tool(context, "forget", wrong).result["fact_id"] == wrong["fact_id"]
    again = call_tool(context, "recall", question)
    assert [fact["object"] for fact in again.result["facts"]] == ["Oslo"]
    assert refusal(context, "forget", wrong).code == "fact_conflict"


@pytest.mark.parametrize(
    ("name", "arguments", "path"),
    [
        ("remember", {"subject": "Ann", "predicate": "age"}, "object"),
        ("remember", {"subject": " ", "predicate": "age", "object": 3}, "subject"),
        ("remember", {"subject": "a", "predicate": "b", "object": [1]}, "object"),
        ("remember", {"subject": "a", "predicate": "b", "object": 1, "valid_to": "x"}, "valid_to"),
        ("recall", {"as_of": "soon"}, "as_of"),
        ("forget", {"fact_id": "x"}, "fact_id"),
    ],
)
def test_odd_arguments_are_refused_by_name(
    context: ToolContext,
    name: str,
    arguments: dict[str, object],
    path: str,
):
    error = refusal(context, name, arguments)
    assert error.code == "invalid_arguments"
    assert error.details["errors"][0]["path"] == path


def test_another_tenants_fact_cannot_be_forgotten(
    context: ToolContext,
    other_tenant: Namespace,
):
    (outcome,) = remember(other_tenant.pk, [StatedFact("Ann", "age", 3)])
    refused = refusal(context, "forget", {"fact_id": str(outcome.fact_id)})
    assert (refused.code, refused.status_code) == ("not_found", 404)
    with namespace(other_tenant.pk):
        assert Fact.objects.get().retracted_at is None
