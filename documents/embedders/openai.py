"""Any OpenAI-compatible API: POST {base}/embeddings. vLLM, TEI, LiteLLM, LM Studio, …"""

from collections.abc import Mapping
from typing import Any

from documents.embedders.remote import RemoteEmbedder
from documents.errors import BadVectors
from documents.providers.errors import ProviderBadResponse

ENCODINGS = ("", "float", "base64")


class OpenAIEmbedder(RemoteEmbedder):
    """`encoding` requests vectors as "float" or "base64" (a third of the bytes); "" requests
    neither, which every server supports. Both are accepted in the response."""

    provider = "openai"
    path = "/embeddings"

    def __init__(self, url: str, *, encoding: str = "", **options: Any) -> None:
        if encoding not in ENCODINGS:
            raise ValueError("encoding must be float, base64 or nothing")
        self.encoding = encoding
        super().__init__(url, **options)

    def request(self, texts: list[str]) -> dict[str, Any]:
        body: dict[str, Any] = {"model": self.model, "input": texts}
        if self.encoding:
            body["encoding_format"] = self.encoding
        if self.shorten == "server":
            body["dimensions"] = self.dimensions
        return body

    def read(self, answer: Mapping[str, Any], count: int) -> tuple[list[Any], int | None]:
        data = answer.get("data")
        if not isinstance(data, list) or not all(isinstance(item, dict) for item in data):
            raise ProviderBadResponse("The provider's answer has no data.")
        if len(data) != count:
            raise BadVectors(f"Asked for {count} vectors, the provider gave {len(data)}.")
        # Some servers leave the index out, some return another order.
        places = [item.get("index", place) for place, item in enumerate(data)]
        if any(type(place) is not int for place in places) or sorted(places) != list(range(count)):
            raise ProviderBadResponse("The provider's answer has an index that makes no sense.")
        vectors: list[Any] = [None] * count
        for place, item in zip(places, data, strict=True):
            vectors[place] = item.get("embedding")
        return vectors, _tokens(answer.get("usage"))


def _tokens(usage: Any) -> int | None:
    reported = usage if isinstance(usage, dict) else {}
    for name in ("prompt_tokens", "total_tokens"):
        if type(reported.get(name)) is int and reported[name] > 0:
            return int(reported[name])
    return None
