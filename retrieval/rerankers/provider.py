"""A call to a rerank provider: every failure is a RerankFailed with its own code."""

from collections.abc import Mapping
from typing import Any

from documents.providers import http_api
from retrieval.rerankers.base import (
    RerankBadResponse,
    RerankFailed,
    RerankTimeout,
    RerankUnavailable,
)

AWAY = (None, 429, 502, 503, 504)  # of statuses; None: not even reached


class RerankProvider(http_api.Provider):
    def post(self, body: Mapping[str, Any], *, deadline: float) -> Any:
        try:
            return super().post(body, deadline=deadline)
        except http_api.ProviderTimeout as error:
            raise RerankTimeout(str(error)) from None
        except http_api.ProviderBadResponse as error:
            raise RerankBadResponse(str(error)) from None
        except http_api.ProviderUnavailable as error:
            kind = RerankUnavailable if error.status in AWAY else RerankFailed
            raise kind(str(error)) from None
        except http_api.ProviderFailed as error:
            raise RerankFailed(str(error)) from error.__cause__
