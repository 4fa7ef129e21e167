"""The vector of a question, by the model of its index. Cached, and computed only once for
concurrent identical questions."""

import uuid
from functools import cache, partial

from documents.embedders import Embedder
from documents.errors import EmbeddingProviderFailed
from documents.metering.embeddings import book_question
from documents.profiles import profiles
from documents.providers.errors import ProviderUnavailable
from ragsite.platform import metrics
from ragsite.platform.breaker import Breaker
from ragsite.web.threads import release_connections
from retrieval.cache.results import embed_query_cached
from retrieval.search_context import SearchedIndex

FAILURES, PAUSE_SECONDS = 3, 30.0  # after this many failures in a row the provider is paused


def embed_question(index: SearchedIndex, text: str) -> list[float]:
    """Return the question's vector. Raises IngestError if the model is not available, or is not
    that of the index."""
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
    """Fail at once for a provider that keeps failing; otherwise every search would wait for it."""
    breaker = _breaker(alias)
    if breaker.is_open:
        raise EmbeddingProviderFailed(
            "The provider has failed several times and is left alone for a while.",
            code=ProviderUnavailable.code,
        )
    release_connections()  # a provider may be slow
    metrics.EMBEDDING_CALLS.labels("question").inc()
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
