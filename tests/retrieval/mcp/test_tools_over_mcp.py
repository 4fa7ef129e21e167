"""Tools over /mcp, called by the SDK's own client in both eras of the protocol."""

from collections.abc import Callable
from typing import Any

import pytest
from mcp import Client, MCPError

from documents.models import AuditEvent, Document, DocumentVersion, Namespace
from ragsite.database.tenancy import namespace, operator

from ...client import Api
from ..tool_calls import ids_of
from .agent import Agent

READING = {"search", "fetch", "ask", "list_documents", "recall"}
WRITING = {"index_document", "delete_document", "remember", "forget"}


def text_of(tenant: Namespace, document_id: str) -> str:
    with namespace(tenant.pk):
        live = DocumentVersion.objects.get(document_id=document_id, state="live")
    return live.text


# -- what is offered -----------------------------------------------------------------------------


def test_a_key_is_shown_the_tools_that_it_may_use(
    agent: Agent, agent_of: Callable[..., Agent], tenant: Namespace, era: str
):
    tools = agent.tools()
    assert set(tools) == READING | WRITING
    assert set(agent_of(tenant, ("read",), era).tools()) == READING
    assert set(agent_of(tenant, ("write",), era).tools()) == WRITING
    for name, tool in tools.items():
        assert tool.title
        assert tool.annotations.read_only_hint is (name in READING)
        assert tool.annotations.destructive_hint is (name in ("delete_document", "forget"))
        assert tool.input_schema["additionalProperties"] is False
        assert not {"ragSearch", "get_job", "search_documents"} & set(tool.description.split())
    assert tools["search"].input_schema["required"] == ["query"]
    assert list(tools["fetch"].input_schema["properties"]) == ["id"]
    for name in ("search", "fetch"):
        assert tools[name].output_schema["type"] == "object"


def test_the_server_introduces_itself(agent: Agent, era: str):
    async def act(client: Client) -> Any:
        return client.protocol_version, client.server_capabilities

    version, capabilities = agent.do(act)
    assert version == ("2025-11-25" if era == "legacy" else "2026-07-28")
    if era == "legacy":  # otherwise the client was told the version and did not ask
        assert capabilities.tools
        assert capabilities.resources
        assert capabilities.prompts is None


def test_a_client_that_asks_first_is_told_what_there_is(
    agent_of: Callable[..., Agent], tenant: Namespace
):
    async def act(client: Client) -> Any:
        return client.protocol_version, client.server_capabilities, client.instructions

    version, capabilities, instructions = agent_of(tenant).do(act)
    assert version == "2026-07-28"
    assert capabilities.tools
    assert capabilities.resources
    assert "cite" in instructions


# -- search and fetch, as ChatGPT takes them -----------------------------------------------------


def test_what_search_finds_is_quoted_exactly_and_can_be_fetched(agent: Agent, tenant: Namespace):
    results = agent.result("search", query="How high does the lighthouse tower stand?")["results"]
    found = results[0]
    assert found["title"] == "The Lighthouse"
    assert found["url"].startswith("http://127.0.0.1:")
    text = text_of(tenant, found["document_id"])
    for one in results:
        whole = text_of(tenant, one["document_id"])
        assert one["text"] == whole[one["span"]["start"] : one["span"]["end"]]
        told = agent.result("fetch", id=one["id"])["metadata"]
        assert (told["quote"], told["span"]) == (one["text"], one["span"])
    fetched = agent.result("fetch", id=found["id"])
    assert set(fetched) == {"id", "title", "text", "url", "metadata"}
    assert (fetched["id"], fetched["title"]) == (found["id"], "The Lighthouse")
    assert fetched["text"] == text
    described = fetched["metadata"]
    span = described["span"]
    assert described["quote"] == text[span["start"] : span["end"]]
    assert "forty metres" in described["quote"]
    assert described["section"] == found["section"]
    assert described["tags"] == ["coast", "history"]
    assert described["next_id"] is None


def test_joined_passages_are_fetched_as_they_were_shown(agent: Agent, api: Api, work: Any):
    sentences = (f"Keeper number {n} polished the brass of the great lens." for n in range(30))
    api.upload(("keepers.txt", " ".join(sentences)))
    work()
    results = agent.result("search", query="Which keeper polished the brass lens?")["results"]
    joined = [one for one in results if ":" in one["id"]]
    assert joined
    for one in joined:
        fetched = agent.result("fetch", id=one["id"])
        assert fetched["metadata"]["quote"] == one["text"]
        assert fetched["url"].split("?")[1] == one["url"].split("?")[1]
        chunk_id, _, span = one["id"].partition(":")
        start = span.split("-")[0]
        for wrong in (f"{start}-{start}", f"{start}-9999", f"0-{10**8}"):
            assert "no such passage" in agent.error("fetch", id=f"{chunk_id}:{wrong}")


def test_a_url_opens_the_passage_for_anybody_who_has_it(agent: Agent, client: Any):
    found = agent.result("search", query="Who needs a pilot?")["results"][0]
    path = "/" + found["url"].split("/", 3)[3]
    page = client.get(path, headers={"Host": "localhost"})
    assert page.status_code == 200
    assert "need a pilot" in page.content.decode()


def test_a_document_id_is_fetched_as_well(agent: Agent, tenant: Namespace):
    harbour = ids_of(tenant)["The Harbour"]
    fetched = agent.result("fetch", id=harbour)
    assert fetched["text"] == text_of(tenant, harbour)
    assert "quote" not in fetched["metadata"]


def test_a_long_document_is_fetched_around_the_passage_and_in_parts(
    agent: Agent, api: Api, work: Callable[[], int], tenant: Namespace
):
    filler = "\n\n".join(f"Paragraph {n} is about nothing in particular." for n in range(1500))
    text = f"{filler}\n\nThe walrus weighs a tonne.\n\n{filler}"
    api.upload(("walrus.txt", text))
    work()
    found = agent.result("search", query="walrus tonne")["results"][0]
    fetched = agent.result("fetch", id=found["id"])
    stored = text_of(tenant, found["document_id"])
    part = fetched["metadata"]["text_span"]
    assert "The walrus weighs a tonne." in fetched["text"]
    assert fetched["text"] == stored[part["start"] : part["end"]]
    assert len(fetched["text"]) < len(stored) == fetched["metadata"]["total_chars"]
    pieces, id_ = [], found["document_id"]
    while id_:
        piece = agent.result("fetch", id=id_)
        pieces.append(piece["text"])
        id_ = piece["metadata"]["next_id"]
    assert "".join(pieces) == stored


def test_nothing_found_is_an_empty_list(agent: Agent):
    assert agent.result("search", query="quarterly zebra dividends")["results"] == []


def test_filters_and_limit_are_kept(agent: Agent):
    found = agent.result("search", query="boats harbour lamp", filters={"tags": ["trade"]}, limit=1)
    assert [one["title"] for one in found["results"]] == ["The Harbour"]


# -- the others ----------------------------------------------------------------------------------


def test_ask_answers_with_citations_that_stand_in_the_text(agent: Agent, tenant: Namespace):
    answered = agent.result("ask", question="Which boats need a pilot?")
    assert answered["is_answered"]
    cited = answered["citations"][0]
    text = text_of(tenant, cited["document_id"])
    assert cited["cited_text"] == text[cited["start_char_index"] : cited["end_char_index"]]
    assert "/d/" in cited["url"]


def test_ask_answers_from_memory_if_it_is_asked_to(agent: Agent):
    agent.result("remember", subject="Zora", predicate="lives in", object="Oslo", user="ann")
    question = "In which city does Zora live?"
    assert not agent.result("ask", question=question)["is_answered"]
    answered = agent.result("ask", question=question, include_facts={"user": "ann"})
    assert "Oslo" in answered["answer"]
    (cited,) = answered["citations"]
    assert (cited["document_title"], cited["document_id"]) == ("Memory", None)
    assert cited["fact"]["object"] == "Oslo"
    assert cited["url"].endswith(f"/api/v1/facts/{cited['fact']['id']}")
    assert not agent.result("ask", question=question, include_facts={"user": "bob"})["is_answered"]
    assert "include_facts.colour" in agent.error("ask", question="?", include_facts={"colour": 1})


def test_documents_are_added_listed_and_deleted(
    agent: Agent, work: Callable[[], int], tenant: Namespace
):
    added = agent.result(
        "index_document", content="The ferry leaves at nine.", title="Ferry", wait=0
    )["documents"][0]
    work()
    listed = agent.result("list_documents", limit=2)
    assert listed["documents"][0]["title"] == "Ferry"
    rest = agent.result("list_documents", cursor=listed["next_cursor"])
    assert len(rest["documents"]) == 2
    found = agent.result("search", query="When does the ferry leave?")["results"]
    assert found[0]["text"] == "The ferry leaves at nine."
    receipt = agent.result("delete_document", document_id=added["document_id"])
    assert receipt["document_id"] == added["document_id"]
    assert "Ferry" not in ids_of(tenant)
    assert "no such passage or document" in agent.error("fetch", id=found[0]["id"])
    with operator():
        told = AuditEvent.objects.filter(namespace_id=tenant.pk, actor_kind="key")
        prefix = agent.key.split("_")[1]
        assert prefix in {event.actor for event in told}


# -- what is refused -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "arguments", "told"),
    [
        ("search", {}, "Argument `query`: is required."),
        ("search", {"query": ""}, "`query`"),
        ("search", {"query": " "}, "Argument `query`: must not be blank."),
        ("search", {"query": 7}, "Argument `query`: must be of type string."),
        ("search", {"query": "x", "limit": 1000}, "Argument `limit`: must be at most 100."),
        ("search", {"query": "x", "topK": 3}, "Argument `topK`: is not an argument"),
        ("search", {"query": "x", "filters": {"tags": "a"}}, "Argument `filters.tags`"),
        ("fetch", {"id": "../etc/passwd"}, "Argument `id`: must be an id"),
        (
            "remember",
            {"subject": "Ann"},
            "`predicate`: is required. Argument `object`: is required.",
        ),
        ("remember", {"a": 1, "b": 2}, "Argument `a`: is not"),
        ("remember", {"a": 1, "b": 2}, "Argument `b`: is not"),
        (
            "remember",
            {"subject": "Ann", "predicate": "is", "object": []},
            "Argument `object`: must be of type string or number or boolean.",
        ),
        ("recall", {"as_of": "soon"}, "Argument `as_of`: must be a date or a time in ISO 8601."),
        ("delete_document", {"document_id": "7"}, "Argument `document_id`: must be a uuid."),
        ("index_document", {}, "Argument `content`: give either content or url."),
        ("list_documents", {"cursor": "x"}, "Argument `cursor`"),
    ],
)
def test_a_wrong_argument_is_named(
    agent_of: Callable[..., Agent],
    tenant: Namespace,
    name: str,
    arguments: dict[str, Any],
    told: str,
):
    assert told in agent_of(tenant).error(name, **arguments)


def test_a_key_that_only_reads_cannot_call_what_it_is_not_shown(
    agent: Agent, agent_of: Callable[..., Agent], tenant: Namespace, era: str
):
    reader = agent_of(tenant, ("read",), era)
    document_id = ids_of(tenant)["The Harbour"]
    told = reader.error("delete_document", document_id=document_id)
    assert told == reader.error("index_document", content="x")
    assert told == "This key lacks the scope 'write'."
    assert document_id in ids_of(tenant).values()
    writer = agent_of(tenant, ("write",), era)
    assert writer.error("search", query="x") == "This key lacks the scope 'read'."


def test_an_unknown_tool_is_an_error_of_the_protocol(agent: Agent):
    for name in ("memorize", "ragSearch", "get_document"):
        with pytest.raises(MCPError, match="no such tool") as caught:
            agent.call(name)
        assert caught.value.error.code == -32602


def test_calls_are_limited_and_the_result_says_so(agent: Agent, settings: Any):
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "agent": 2}
    agent.result("list_documents")
    agent.result("list_documents")
    told = agent.error("list_documents")
    assert "2 requests of the class 'agent' a minute" in told


def test_equal_calls_are_answered_from_the_cache(agent: Agent, monkeypatch: Any):
    first = agent.result("search", query="Who needs a pilot?")
    monkeypatch.setattr("retrieval.tools.connectors.rag_search", None)  # would fail
    assert agent.result("search", query="Who needs a pilot?") == first


# -- two tenants ---------------------------------------------------------------------------------


def test_another_tenants_ids_answer_exactly_like_ones_that_nobody_has(
    agent: Agent, stranger: Agent, tenant: Namespace
):
    passage = agent.result("search", query="Who needs a pilot?")["results"][0]
    nobodys = "00000000-0000-4000-8000-000000000000"
    for id_ in (passage["id"], passage["document_id"], f"{passage['document_id']}:0"):
        assert stranger.error("fetch", id=id_) == stranger.error("fetch", id=nobodys)
    told = stranger.error("delete_document", document_id=passage["document_id"])
    assert told == stranger.error("delete_document", document_id=nobodys)
    assert stranger.result("search", query="Who needs a pilot?")["results"] == []
    assert stranger.result("list_documents")["documents"] == []
    assert not stranger.result("ask", question="Which boats need a pilot?")["is_answered"]
    with namespace(tenant.pk):
        assert Document.objects.count() == 3
