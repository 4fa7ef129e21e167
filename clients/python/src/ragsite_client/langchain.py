"""A LangChain retriever: `pip install ragsite-client[langchain]`."""

from typing import Any

from langchain_core.callbacks import (
    AsyncCallbackManagerForRetrieverRun,
    CallbackManagerForRetrieverRun,
)
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import ConfigDict, Field

from . import AsyncClient, Client, Hit
from .hits import metadata_of


class RagsiteRetriever(BaseRetriever):
    """Passages as documents; `page_content` is the stored text from `start` to `end`, exactly.

    `options` go to every query: `{"k": 5, "filters": {"tags": ["handbook"]}}`.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    client: Client | None = Field(default=None, exclude=True)
    async_client: AsyncClient | None = Field(default=None, exclude=True)
    options: dict[str, Any] = Field(default_factory=dict)

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[Document]:
        if self.client is None:
            self.client = Client()
        return [_document(hit) for hit in self.client.query(query, **self.options).results]

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun
    ) -> list[Document]:
        if self.async_client is None:
            self.async_client = AsyncClient()
        found = await self.async_client.query(query, **self.options)
        return [_document(hit) for hit in found.results]


def _document(hit: Hit) -> Document:
    return Document(id=hit.chunk_id, page_content=hit.content, metadata=metadata_of(hit))
