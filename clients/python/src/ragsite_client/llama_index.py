"""A LlamaIndex retriever: `pip install ragsite-client[llama-index]`."""

from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import (
    NodeRelationship,
    NodeWithScore,
    QueryBundle,
    RelatedNodeInfo,
    TextNode,
)

from . import AsyncClient, Client, Hit
from .hits import metadata_of
from .options import QueryOptions


class RagsiteRetriever(BaseRetriever):
    """Passages as nodes; start_char_idx and end_char_idx are their place in the stored text.

    `options` go to every query: `{"k": 5, "filters": {"tags": ["handbook"]}}`.
    """

    def __init__(
        self,
        client: Client | None = None,
        async_client: AsyncClient | None = None,
        options: QueryOptions | None = None,
    ) -> None:
        self._client, self._async_client = client, async_client
        self._options: QueryOptions = options or {}
        super().__init__()

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        if self._client is None:
            self._client = Client()
        found = self._client.query(query_bundle.query_str, **self._options)
        return [_node(hit) for hit in found.results]

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        if self._async_client is None:
            self._async_client = AsyncClient()
        found = await self._async_client.query(query_bundle.query_str, **self._options)
        return [_node(hit) for hit in found.results]


def _node(hit: Hit) -> NodeWithScore:
    source = RelatedNodeInfo(node_id=hit.document_id, metadata={"title": hit.title})
    node = TextNode(
        id_=hit.chunk_id,
        text=hit.content,
        start_char_idx=hit.span.start,
        end_char_idx=hit.span.end,
        metadata=metadata_of(hit),
        relationships={NodeRelationship.SOURCE: source},
    )
    return NodeWithScore(node=node, score=hit.scores.final)
