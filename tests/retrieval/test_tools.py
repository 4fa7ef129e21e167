"""Tools without HTTP: their schemas, who may call which, what they return, and what is kept."""

import json
import uuid
from collections.abc import Callable
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from documents.models import Namespace
from retrieval.tools.base import ToolContext
from retrieval.tools.calling import call_tool
from retrieval.tools.registry import FORMATS, TOOLS, definitions, tools_for

from ..client import Api
from .tool_calls import ids_of, refusal

pytestmark = pytest.mark.usefixtures("no_agent_limit")
READ_ONLY = {
    *("ragSearch", "answer", "search_documents", "list_documents", "get_document", "get_job"),
    "recall",
}


# -- what tools are told of themselves -----------------------------------------------------------


@pytest.mark.parametrize("tool", TOOLS.values(), ids=list(TOOLS))
def test_every_schema_is_valid_and_closed_and_describes_each_argument(tool: Any):
    schema = tool.input_schema
    Draft202012Validator.check_schema(schema)
    assert schema["additionalProperties"] is False
    assert not {"oneOf", "anyOf", "allOf", "not"} & set(schema)  # no provider takes them at the top
    assert all(value["description"] for value in schema["properties"].values())
    defaults = {n: p["default"] for n, p in schema["properties"].items() if "default" in p}
    for name, value in defaults.items():
        Draft202012Validator(schema["properties"][name]).validate(value)
    assert 50 < len(tool.description) < 1024  # what OpenAI takes
    json.dumps(definitions([tool]))


def test_tools_are_defined_as_each_provider_takes_them():
    tool = TOOLS["ragSearch"]
    ours, openai, anthropic = (definitions([tool], name)[0] for name in FORMATS)
    assert ours["input_schema"]["$schema"].endswith("2020-12/schema")
    assert openai["type"] == "function"
    assert openai["function"]["parameters"]["required"] == ["query"]
    assert set(anthropic) == {"name", "description", "input_schema"}
    assert "$schema" not in openai["function"]["parameters"] | anthropic["input_schema"]


def test_a_caller_sees_the_tools_its_scopes_allow():
    def names(*scopes: str) -> set[str]:
        context = ToolContext(uuid.uuid4(), uuid.uuid4(), frozenset(scopes))
        return {tool.name for tool in tools_for(context)}

    assert names("read") == READ_ONLY
    assert names("write") == {"index_document", "delete_document", "remember", "forget"}
    assert names("read", "write") == names("admin") == set(TOOLS)
    assert {tool.name for tool in TOOLS.values() if tool.is_read_only} == READ_ONLY
    destructive = {tool.name for tool in TOOLS.values() if tool.is_destructive}
    assert destructive == {"delete_document", "forget"}


# -- who may call, and with what -----------------------------------------------------------------


def test_a_key_that_only_reads_can_neither_add_nor_delete(
    library: Api, tenant: Namespace, context_of: Callable[..., ToolContext]
):
    reader = context_of(tenant, ("read",))
    document_id = ids_of(tenant)["The Harbour"]
    for name, arguments in (
        ("delete_document", {"document_id": document_id}),
        ("index_document", {"content": "More."}),
    ):
        error = refusal(reader, name, arguments)
        assert (error.code, error.status_code) == ("insufficient_scope", 403)
    assert len(ids_of(tenant)) == 3


def test_a_tool_nobody_has_heard_of_is_unknown(context: ToolContext):
    error = refusal(context, "drop_tables", {})
    assert (error.code, error.status_code) == ("unknown_tool", 404)
    assert "ragSearch" in error.details["available"]


@pytest.mark.parametrize(
    ("name", "arguments", "path"),
    [
        ("ragSearch", {}, "query"),
        ("ragSearch", {"query": ""}, "query"),
        ("ragSearch", {"query": "   "}, "query"),
        ("ragSearch", {"query": 5}, "query"),
        ("ragSearch", {"query": "x" * 4001}, "query"),
        ("ragSearch", {"query": "a\x00b"}, "query"),
        ("ragSearch", {"query": "a\ud800b"}, "query"),
        ("ragSearch", {"query": "x", "limit": 0}, "limit"),
        ("ragSearch", {"query": "x", "limit": True}, "limit"),
        ("ragSearch", {"query": "x", "limit": 2.5}, "limit"),
        ("ragSearch", {"query": "x", "threshold": float("nan")}, "threshold"),
        ("ragSearch", {"query": "x", "keywordWeight": 0, "semanticWeight": 0}, "semanticWeight"),
        ("ragSearch", {"query": "x", "namespace": "other"}, "namespace"),
        ("ragSearch", {"query": "x", "filters": {"tags": [5]}}, "filters.tags.0"),
        ("ragSearch", {"query": "x", "filters": {"tag": ["a"]}}, "filters.tag"),
        ("ragSearch", {"query": "x", "filters": {"document_ids": ["1 OR 1=1"]}}, "filters"),
        ("ragSearch", {"query": "x", "filters": {"metadata": {"$where": "1"}}}, "filters"),
        ("ragSearch", {"query": "x", "filters": {"date_range": ["soon", None]}}, "filters"),
        ("list_documents", {"cursor": "bm90IGEgY3Vyc29y"}, "cursor"),
        ("list_documents", {"cursor": "'; DROP TABLE documents_document; --"}, "cursor"),
        ("list_documents", {"status": "lost"}, "status"),
        ("get_document", {"document_id": "../../etc/passwd"}, "document_id"),
        ("get_document", {"document_id": str(uuid.uuid4()), "start": -1}, "start"),
        ("get_document", {"document_id": str(uuid.uuid4()), "start": 10**30}, "start"),
        ("delete_document", {}, "document_id"),
        ("delete_document", {"document_id": ["a", "b"]}, "document_id"),
        ("index_document", {}, "content"),
        ("index_document", {"content": "a", "url": "https://example.com"}, "content"),
        ("index_document", {"content": "a", "metadata": {"a": "\x00"}}, "metadata"),
        ("answer", {"question": " "}, "question"),
        ("get_job", [], ""),
        ("get_job", "job", ""),
        ("get_job", None, ""),
    ],
)
def test_arguments_that_do_not_fit_are_refused_by_name(
    name: str, arguments: Any, path: str, context: ToolContext
):
    error = refusal(context, name, arguments)
    assert (error.code, error.status_code) == ("invalid_arguments", 422)
    assert error.details["errors"][0]["path"].startswith(path)
    assert len(str(error.detail)) < 600  # what was sent is not repeated


def test_another_tenants_document_and_job_are_like_ones_that_nobody_has(
    library: Api,
    tenant: Namespace,
    other_tenant: Namespace,
    context_of: Callable[..., ToolContext],
):
    stranger = context_of(other_tenant)
    document_id = ids_of(tenant)["The Harbour"]
    job_id = library.get("jobs").body["results"][0]["id"]
    calls = [
        ("get_document", {"document_id": document_id}),
        ("get_document", {"document_id": document_id, "include_text": True}),
        ("delete_document", {"document_id": document_id}),
        ("get_job", {"job_id": job_id}),
    ]
    for name, arguments in calls:
        random = {
            key: str(uuid.uuid4()) if key.endswith("_id") else v for key, v in arguments.items()
        }
        theirs, nobodys = refusal(stranger, name, arguments), refusal(stranger, name, random)
        assert (theirs.code, theirs.status_code) == ("not_found", 404)
        assert str(theirs.detail) == str(nobodys.detail)
    assert call_tool(stranger, "ragSearch", {"query": "harbour"}).result["results"] == []
    assert call_tool(stranger, "list_documents", {}).result["documents"] == []
    assert call_tool(stranger, "search_documents", {"query": "harbour"}).result["documents"] == []
    assert len(ids_of(tenant)) == 3


# -- what they return ----------------------------------------------------------------------------


@pytest.mark.usefixtures("library")
def test_rag_search_returns_passages_with_citations_that_resolve(context: ToolContext):
    found = call_tool(context, "ragSearch", {"query": "What does ERR_CONN_42 mean?"}).result
    best = found["results"][0]
    assert "ERR_CONN_42" in best["content"]
    assert best["namespace"] == "tenant"
    assert 0.7 <= best["similarity"] <= 1
    cited = best["citation"]
    arguments = {
        "document_id": cited["documentId"],
        "include_text": True,
        "start": cited["start"],
        "max_chars": cited["end"] - cited["start"],
    }
    text = call_tool(context, "get_document", arguments).result["text"]
    assert text["content"] == best["content"]
    assert (text["start"], text["end"]) == (cited["start"], cited["end"])


@pytest.mark.usefixtures("library")
def test_an_empty_search_says_that_nothing_was_found(context: ToolContext):
    filters = {"tags": ["no such tag"]}
    found = call_tool(context, "ragSearch", {"query": "boats", "filters": filters}).result
    assert found["results"] == []
    assert any("No matching documents found" in note for note in found["notes"])


@pytest.mark.usefixtures("library")
def test_filters_and_limit_restrict_a_search(context: ToolContext):
    arguments = {"query": "lamp and boats", "threshold": 0, "filters": {"tags": ["trade"]}}
    found = call_tool(context, "ragSearch", arguments).result["results"]
    assert {hit["sourceId"] for hit in found} == {"upload:harbour.md"}
    assert len(call_tool(context, "ragSearch", {**arguments, "limit": 1.0}).result["results"]) == 1


@pytest.mark.usefixtures("library")
def test_documents_are_listed_a_page_at_a_time_and_each_once(context: ToolContext):
    seen, cursor = [], None
    while True:
        arguments = {"limit": 2} | ({"cursor": cursor} if cursor else {})
        page = call_tool(context, "list_documents", arguments).result
        seen += [document["title"] for document in page["documents"]]
        if (cursor := page["next_cursor"]) is None:
            break
    assert sorted(seen) == ["The Harbour", "The Lighthouse", "kitchen.txt"]
    tagged = call_tool(context, "list_documents", {"tags": ["coast", "trade"]}).result
    assert [document["title"] for document in tagged["documents"]] == ["The Harbour"]


@pytest.mark.usefixtures("library")
def test_documents_are_found_by_name_by_content_and_by_filter(context: ToolContext):
    def titles(**arguments: Any) -> list[str]:
        found = call_tool(context, "search_documents", arguments).result["documents"]
        return [document["title"] for document in found]

    assert titles(query="LIGHTHOUSE")[0] == "The Lighthouse"
    assert titles(query="knead the dough") == ["kitchen.txt"]
    assert titles(title="harb") == ["The Harbour"]
    assert titles(source_uri="upload:kitchen.txt") == ["kitchen.txt"]
    assert titles(tags=["history"]) == ["The Lighthouse"]
    assert titles(query="dough", status="failed") == []
    assert len(titles()) == 3
    found = call_tool(context, "search_documents", {"query": "harbour"}).result["documents"][0]
    assert found["matched"] == "name"
    assert "harbour" in found["passage"]


def test_a_documents_text_comes_in_parts(context: ToolContext, work: Callable[[], int]):
    text = "Wörter 🦉 und mehr. " * 40
    added = call_tool(context, "index_document", {"content": text, "wait": 0}).result["documents"][
        0
    ]
    work()
    parts, start = [], 0
    while True:
        arguments = {"document_id": added["document_id"], "include_text": True, "max_chars": 100}
        part = call_tool(context, "get_document", {**arguments, "start": start}).result["text"]
        parts.append(part["content"])
        start = part["end"]
        if start >= part["total_chars"]:
            break
    assert "".join(parts).split() == text.split()
    beyond = call_tool(context, "get_document", {**arguments, "start": 10**6}).result["text"]
    assert (beyond["content"], beyond["start"], beyond["end"]) == ("", start, start)


def test_a_document_is_added_followed_found_and_deleted(
    context: ToolContext, tenant: Namespace, work: Callable[[], int]
):
    arguments = {
        "content": "The ferry leaves at seven.\x00",
        "title": "Ferry",
        "tags": ["boats"],
        "metadata": {"year": 2026},
        "source_uri": "notes/ferry",
        "collection": "boats",
        "wait": 0,
    }
    added = call_tool(context, "index_document", arguments).result["documents"][0]
    assert (added["status"], added["source_uri"]) == ("queued", "notes/ferry")
    job = call_tool(context, "get_job", {"job_id": added["job_id"]})
    assert (job.result["job"]["state"], job.cached) == ("queued", False)
    assert job.result["job"]["request_id"] == "trace-1"
    error = refusal(
        context, "get_document", {"document_id": added["document_id"], "include_text": True}
    )
    assert (error.code, error.status_code) == ("not_ready", 409)
    work()
    job = call_tool(context, "get_job", {"job_id": added["job_id"]})
    assert (job.result["job"]["state"], job.cached) == ("succeeded", False)
    question = {"query": "When does the ferry leave?", "filters": {"collection": ["boats"]}}
    hits = call_tool(context, "ragSearch", question).result["results"]
    assert hits[0]["content"] == "The ferry leaves at seven."
    again = call_tool(context, "index_document", arguments).result["documents"][0]
    assert (again["duplicate"], again["status"]) == (True, "ready")
    receipt = call_tool(context, "delete_document", {"document_id": added["document_id"]}).result
    assert (receipt["source_uri"], receipt["versions"], receipt["files_left"]) == (
        "notes/ferry",
        1,
        [],
    )
    assert ids_of(tenant) == {}


def test_an_empty_document_is_refused_with_its_own_code(context: ToolContext):
    error = refusal(context, "index_document", {"content": "\x00", "wait": 0})
    assert (error.code, error.status_code) == ("empty_file", 422)


def test_an_address_inside_is_not_fetched(context: ToolContext, tenant: Namespace):
    error = refusal(context, "index_document", {"url": "http://127.0.0.1/admin/", "wait": 0})
    assert error.status_code == 422
    assert ids_of(tenant) == {}
