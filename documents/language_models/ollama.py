"""Ollama's own API: POST {base}/api/chat. Its /v1 cannot raise the context size."""

from collections.abc import Mapping
from typing import Any

from documents.language_models.base import ChatRequest
from documents.language_models.reading import StreamReader, as_object, json_object, text_of
from documents.language_models.remote import RemoteLanguageModel
from documents.providers.errors import ProviderBadResponse


class OllamaModel(RemoteLanguageModel):
    """`context_tokens` becomes num_ctx, `options` are other options of the model, such as {"top_k":
    20}, `keep_alive` is how long it stays loaded ("10m"), and `think` switches reasoning on or off
    (None: the model's default)."""

    provider = "ollama"
    path = "/api/chat"
    optional_fields = ("think",)

    def __init__(
        self,
        url: str,
        *,
        options: Mapping[str, Any] | None = None,
        keep_alive: str = "",
        think: bool | None = None,
        **others: Any,
    ) -> None:
        self.options = dict(options or {})
        self.keep_alive = keep_alive
        self.think = think
        super().__init__(url, **others)

    def request(self, chat: ChatRequest) -> dict[str, Any]:
        options: dict[str, Any] = {
            "num_ctx": self.context_tokens,
            "num_predict": chat.max_tokens,
            **self.options,
        }
        if chat.temperature is not None:
            options["temperature"] = chat.temperature
        if chat.stop:
            options["stop"] = list(chat.stop)
        body: dict[str, Any] = {
            "model": self.model,
            "messages": [{"role": m.role, "content": m.content} for m in chat.messages],
            "stream": True,
            "options": options,
        }
        if self.keep_alive:
            body["keep_alive"] = self.keep_alive
        if self.think is not None:
            body["think"] = self.think
        if chat.json_mode:
            body["format"] = "json"
        return body

    def reader(self) -> "OllamaReader":
        return OllamaReader()


class OllamaReader(StreamReader):
    """Reads one JSON object per line; ignores `thinking`."""

    def feed(self, line: bytes) -> str:
        if not line.strip():
            return ""
        data = json_object(line)
        if "message" not in data and not data.get("done"):
            raise ProviderBadResponse("The provider's answer has no message.")
        if data.get("done"):
            self.is_done = True
            self.finish = "length" if data.get("done_reason") == "length" else "stop"
            # Missing if the prompt came from Ollama's cache.
            self._prompt_tokens = data.get("prompt_eval_count")
            self._completion_tokens = data.get("eval_count")
        return text_of(as_object(data.get("message")).get("content"))
