"""A question's vector, by the very model that its index was made with: cached, and asked for once
by however many who ask the same."""

import uuid
from functools import cache

from documents.embedders import Embedder
from documents.errors import EmbeddingProviderFailed
from documents.metering.embeddings import book_question
from documents.models import Namespace
from documents.profiles import profiles
from documents.providers.errors import ProviderUnavailable
from ragsite.platform.breaker import Breaker
from ragsite.web.threads import release_connections
from retrieval.cache.results import embed_query_cached

FAILURES, PAUSE_SECONDS = 3, 30.0  # in a row; then a provider is left alone


def embed_question(tenant: Namespace, text: str) -> list[float]:
    """Raises IngestError where the model is not there, or is not the index's own."""
    profile = tenant.active_profile
    embedder = profiles.embedder_of(profile)
    vector, _ = embed_query_cached(
        embedder.identity,
        text,
        lambda: _ask(profile.embedder, embedder, text, tenant.pk),
        namespace_id=tenant.pk,
    )
    return vector


def _ask(alias: str, embedder: Embedder, text: str, namespace_id: uuid.UUID) -> list[float]:
    """Not a provider that keeps failing: every search would wait for its deadline."""
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
