"""Ollama's own API: POST {base}/api/embed."""

from collections.abc import Mapping
from typing import Any

from documents.embedders.remote import RemoteEmbedder
from documents.errors import BadVectors
from documents.providers.errors import ProviderBadResponse


class OllamaEmbedder(RemoteEmbedder):
    """`options` are the model's, such as {"num_ctx": 8192}; `keep_alive` is how long it stays
    loaded ("10m"). Unless num_ctx is set, Ollama reads 2,048 tokens with most models."""

    provider = "ollama"
    path = "/api/embed"

    def __init__(
        self,
        url: str,
        *,
        options: Mapping[str, Any] | None = None,
        keep_alive: str = "",
        max_tokens: int = 0,
        **others: Any,
    ) -> None:
        self.options = dict(options or {})
        self.keep_alive = keep_alive
        limit = max_tokens or int(self.options.get("num_ctx", 2048))
        super().__init__(url, max_tokens=limit, **others)

    def request(self, texts: list[str]) -> dict[str, Any]:
        body: dict[str, Any] = {"model": self.model, "input": texts}
        if self.options:
            body["options"] = self.options
        if self.keep_alive:
            body["keep_alive"] = self.keep_alive
        if self.shorten == "server":
            body["dimensions"] = self.dimensions
        return body

    def read(self, answer: Mapping[str, Any], count: int) -> tuple[list[Any], int | None]:
        vectors = answer.get("embeddings")
        if not isinstance(vectors, list):
            raise ProviderBadResponse("The provider's answer has no embeddings.")
        if len(vectors) != count:
            raise BadVectors(f"Asked for {count} vectors, the provider gave {len(vectors)}.")
        tokens = answer.get("prompt_eval_count")
        return vectors, tokens if type(tokens) is int and tokens > 0 else None
