"""LangChain and LlamaIndex, each with its own classes, against a real server."""

import asyncio
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.runnables import RunnableLambda
from llama_index.core.schema import MetadataMode, NodeRelationship, NodeWithScore, TextNode
from ragsite_client import AsyncClient, Client, InvalidRequest
from ragsite_client.langchain import RagsiteRetriever as LangChainRetriever
from ragsite_client.llama_index import RagsiteRetriever as LlamaIndexRetriever

QUESTION = "How hot is the kiln?"


def text_of(metadata: dict[str, Any]) -> str:
    with Client() as client:
        text = client.document_text(metadata["document_id"]).text
    return text[metadata["start"] : metadata["end"]]


def check_langchain(documents: list[Document]) -> None:
    best = documents[0]
    assert best.page_content == text_of(best.metadata)
    assert "🔥" in best.page_content
    wanted = {
        "source": "https://example.com/kiln",
        "url": "https://example.com/kiln",
        "title": "Kiln",
        "section": "Kiln > Firing",
        "page": None,
        "tags": ["kiln"],
        "collection": None,
        "collections": [],
    }
    assert {name: best.metadata[name] for name in wanted} == wanted
    scores = [one.metadata["score"] for one in documents]
    assert scores == sorted(scores, reverse=True)


def test_langchain() -> None:
    check_langchain(LangChainRetriever().invoke(QUESTION))
    chain = LangChainRetriever(options={"k": 1}) | RunnableLambda(lambda found: len(found))
    assert chain.invoke(QUESTION) == 1


def test_langchain_asynchronously() -> None:
    async def use() -> list[Document]:
        async with AsyncClient() as client:
            return await LangChainRetriever(async_client=client).ainvoke(QUESTION)

    check_langchain(asyncio.run(use()))


def test_options_restrict_and_a_wrong_one_is_an_error() -> None:
    filters = {"metadata": {"year": 2026}}
    (only,) = LangChainRetriever(options={"filters": filters}).invoke("kiln or wheel")
    assert (only.metadata["year"], only.metadata["url"]) == (2026, None)
    with pytest.raises(InvalidRequest, match="colour"):
        LangChainRetriever(options={"colour": "blue"}).invoke(QUESTION)


def check_llama_index(found: list[NodeWithScore]) -> None:
    best, node = found[0], found[0].node
    assert isinstance(node, TextNode)
    with Client() as client:
        text = client.document_text(node.metadata["document_id"]).text
    assert text[node.start_char_idx : node.end_char_idx] == node.get_content(MetadataMode.NONE)
    assert "🔥" in node.text
    source = node.relationships[NodeRelationship.SOURCE]
    assert source.node_id == node.metadata["document_id"]  # type: ignore[union-attr]
    assert best.score == node.metadata["score"]
    assert node.metadata["source"] == "https://example.com/kiln"


def test_llama_index() -> None:
    check_llama_index(LlamaIndexRetriever().retrieve(QUESTION))
    assert len(LlamaIndexRetriever(options={"k": 1}).retrieve(QUESTION)) == 1


def test_llama_index_asynchronously() -> None:
    async def use() -> list[NodeWithScore]:
        async with AsyncClient() as client:
            return list(await LlamaIndexRetriever(async_client=client).aretrieve(QUESTION))

    check_llama_index(asyncio.run(use()))


def test_the_key_is_in_no_repr() -> None:
    with Client() as client:
        shown = repr(LangChainRetriever(client=client)) + repr(LlamaIndexRetriever(client))
        assert client._settings.api_key not in shown
