"""A question's vector, by the model that its index was made with: cached, and computed once however
many ask the same at the same time."""

import uuid
from functools import cache, partial

from documents.embedders import Embedder
from documents.errors import EmbeddingProviderFailed
from documents.metering.embeddings import book_question
from documents.profiles import profiles
from documents.providers.errors import ProviderUnavailable
from ragsite.platform.breaker import Breaker
from ragsite.web.threads import release_connections
from retrieval.cache.results import embed_query_cached
from retrieval.search_context import SearchedIndex

FAILURES, PAUSE_SECONDS = 3, 30.0  # in a row; then a provider is left alone


def embed_question(index: SearchedIndex, text: str) -> list[float]:
    """Raises IngestError where the model is not there, or is not the index's own."""
    embedder = profiles.embedder_of(index.profile)
    vector, _ = embed_query_cached(
        embedder.identity,
        text,
        partial(_ask_embedder, index.profile.embedder, embedder, text, index.namespace_id),
        namespace_id=index.namespace_id,
    )
    return vector


def _ask_embedder(
    alias: str, embedder: Embedder, text: str, namespace_id: uuid.UUID
) -> list[float]:
    """Raises at once for a provider that keeps failing: else every search would wait for it."""
    breaker = _breaker(alias)
    if breaker.is_open:
        raise EmbeddingProviderFailed(
            "The provider has failed several times and is left alone for a while.",
            code=ProviderUnavailable.code,
        )
    release_connections()  # a provider may take its time
    try:
        vector = embedder.embed_query(text)
    except EmbeddingProviderFailed:
        breaker.failed()
        raise
    breaker.worked()
    book_question(embedder, namespace_id, text)
    return vector


@cache
def _breaker(alias: str) -> Breaker:
    return Breaker(failures=FAILURES, pause=PAUSE_SECONDS)
