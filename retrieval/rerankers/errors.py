"""Failures of a provider or a language model as failures of the reranker that called it."""

from collections.abc import Iterator
from contextlib import contextmanager

from documents.providers.errors import (
    ProviderBadResponse,
    ProviderFailed,
    ProviderTimeout,
    ProviderUnavailable,
)
from retrieval.rerankers.base import (
    RerankBadResponse,
    RerankFailed,
    RerankTimeout,
    RerankUnavailable,
)

AWAY_STATUSES = (None, 429, 502, 503, 504)  # None: the provider was not even reached


@contextmanager
def rerank_errors() -> Iterator[None]:
    """Raise every ProviderFailed as a RerankFailed."""
    try:
        yield
    except ProviderTimeout as error:
        raise RerankTimeout(str(error)) from None
    except ProviderBadResponse as error:
        raise RerankBadResponse(str(error)) from None
    except ProviderUnavailable as error:
        kind = RerankUnavailable if error.status in AWAY_STATUSES else RerankFailed
        raise kind(str(error)) from None
    except ProviderFailed as error:
        raise RerankFailed(str(error)) from error.__cause__
