"""The rerank API of Cohere, Jina, Together and vLLM: POST {base}/rerank."""

from collections.abc import Sequence
from typing import Any

from documents.providers.http_api import Provider
from retrieval.rerankers.base import RerankBadResponse, RerankPassage, finite
from retrieval.rerankers.errors import rerank_errors


class RemoteReranker:
    name = "remote"

    def __init__(
        self, url: str, *, model: str = "", key: str = "", max_bytes: int = 2_000_000
    ) -> None:
        self.model = model
        self._provider = Provider(url, "/rerank", key=key, max_bytes=max_bytes)

    def rerank(
        self, query: str, passages: Sequence[RerankPassage], *, deadline: float
    ) -> list[float]:
        if not passages:
            return []
        body: dict[str, Any] = {
            "query": query,
            "documents": [passage.text for passage in passages],
            "top_n": len(passages),
        }
        if self.model:
            body["model"] = self.model
        with rerank_errors():
            answer = self._provider.post(body, deadline=deadline)
        return _scores(answer, len(passages))

    def warm(self) -> None:
        return None


def _scores(answer: Any, count: int) -> list[float]:
    """Requires every index exactly once: a missing one would silently lose a passage."""
    results = answer.get("results") if isinstance(answer, dict) else None
    if not isinstance(results, list):
        raise RerankBadResponse("The provider's answer has no results.")
    scores: dict[int, float] = {}
    for result in results:
        index = result.get("index") if isinstance(result, dict) else None
        if type(index) is not int or not 0 <= index < count or index in scores:
            raise RerankBadResponse("The provider's answer has an invalid index.")
        scores[index] = finite(result.get("relevance_score"))
    if len(scores) != count:
        raise RerankBadResponse(f"Asked for {count} scores, the provider returned {len(scores)}.")
    return [scores[index] for index in range(count)]
