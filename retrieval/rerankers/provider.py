"""A call to a rerank provider: every failure is a RerankFailed with its own code."""

from collections.abc import Mapping
from typing import Any

from documents import provider
from retrieval.rerankers.base import (
    RerankBadResponse,
    RerankFailed,
    RerankTimeout,
    RerankUnavailable,
)

AWAY = (None, 429, 502, 503, 504)  # of statuses; None: not even reached


class Provider(provider.Provider):
    def post(self, body: Mapping[str, Any], *, deadline: float) -> Any:
        try:
            return super().post(body, deadline=deadline)
        except provider.ProviderTimeout as error:
            raise RerankTimeout(str(error)) from None
        except provider.ProviderBadResponse as error:
            raise RerankBadResponse(str(error)) from None
        except provider.ProviderUnavailable as error:
            kind = RerankUnavailable if error.status in AWAY else RerankFailed
            raise kind(str(error)) from None
        except provider.ProviderFailed as error:
            raise RerankFailed(str(error)) from error.__cause__
