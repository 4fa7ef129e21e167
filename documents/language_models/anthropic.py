"""Anthropic's messages API: POST {base}/v1/messages."""

from typing import Any

from documents.language_models.base import ChatRequest, FinishReason
from documents.language_models.reading import EventReader, as_object, text_of
from documents.language_models.remote import RemoteLanguageModel
from documents.providers.errors import ProviderBadResponse

REASONS: dict[str, FinishReason] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "refused",
}
PROMPT_COUNTS = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
MAX_TEMPERATURE = 1.0  # other APIs allow 2


class AnthropicModel(RemoteLanguageModel):
    """The API has no JSON mode: the prompt has to ask for JSON."""

    provider = "anthropic"
    path = "/v1/messages"
    key_header = "x-api-key"

    def __init__(
        self,
        url: str = "https://api.anthropic.com",
        *,
        version: str = "2023-06-01",
        context_tokens: int = 200_000,
        **options: Any,
    ) -> None:
        self.version = version
        super().__init__(url, context_tokens=context_tokens, **options)

    def own_headers(self) -> dict[str, str]:
        return {"anthropic-version": self.version}

    def request(self, chat: ChatRequest) -> dict[str, Any]:
        system = "\n\n".join(m.content for m in chat.messages if m.role == "system")
        turns = [
            {"role": m.role, "content": m.content}
            for m in chat.messages
            if m.role != "system" and m.content.strip()  # the API rejects empty messages
        ]
        if turns and turns[0]["role"] == "assistant":  # the API requires the user's turn first
            turns.insert(0, {"role": "user", "content": "(The conversation begins.)"})
        body: dict[str, Any] = {
            "model": self.model,
            "messages": turns,
            "max_tokens": chat.max_tokens,
            "stream": True,
        }
        if system:
            body["system"] = system
        if chat.temperature is not None:
            body["temperature"] = min(chat.temperature, MAX_TEMPERATURE)
        if stop := [text for text in chat.stop if text.strip()]:
            body["stop_sequences"] = stop
        return body

    def reader(self) -> "AnthropicReader":
        return AnthropicReader()


class AnthropicReader(EventReader):
    def event(self, data: dict[str, Any]) -> str:
        kind = data.get("type")
        if kind == "message_start":
            self._take_usage(as_object(data.get("message")).get("usage"))
        elif kind == "content_block_delta":
            delta = as_object(data.get("delta"))
            return text_of(delta.get("text")) if delta.get("type") == "text_delta" else ""
        elif kind == "message_delta":
            self._take_reason(as_object(data.get("delta")).get("stop_reason"))
            self._take_usage(data.get("usage"))
        elif kind == "message_stop":
            self.is_done = True
        elif not isinstance(kind, str):
            raise ProviderBadResponse("The provider's answer is not what was asked for.")
        return ""  # pings and unknown events

    def whole(self, answer: dict[str, Any]) -> str:
        blocks = answer.get("content")
        if not isinstance(blocks, list):
            raise ProviderBadResponse("The provider's answer has no content.")
        self.is_done = True
        self._take_reason(answer.get("stop_reason"))
        self._take_usage(answer.get("usage"))
        texts = [as_object(block) for block in blocks]
        return "".join(text_of(b.get("text")) for b in texts if b.get("type") == "text")

    def _take_reason(self, reason: Any) -> None:
        if reason:
            self.finish = REASONS.get(str(reason), "unknown")

    def _take_usage(self, value: Any) -> None:
        """Tokens read from or written to the provider's cache are part of the prompt."""
        usage = as_object(value)
        counts = [usage.get(name) for name in PROMPT_COUNTS]
        if type(counts[0]) is int:
            self._prompt_tokens = sum(count for count in counts if type(count) is int)
        if type(usage.get("output_tokens")) is int:
            self._completion_tokens = usage["output_tokens"]
