"""Any OpenAI-compatible chat server: POST {base}/chat/completions. vLLM, LM Studio, …"""

from typing import Any

from documents.language_models.base import ChatRequest, FinishReason
from documents.language_models.reading import EventReader, as_object, text_of
from documents.language_models.remote import RemoteLanguageModel
from documents.providers.errors import ProviderBadResponse

REASONS: dict[str, FinishReason] = {
    "stop": "stop",
    "length": "length",
    "content_filter": "refused",
}


class OpenAIModel(RemoteLanguageModel):
    """`max_tokens_field` is "max_completion_tokens" for OpenAI's newer models. Usage is requested
    in the stream; if a server rejects that, the call is repeated without it."""

    provider = "openai"
    path = "/chat/completions"
    optional_fields = ("stream_options", "response_format")

    def __init__(self, url: str, *, max_tokens_field: str = "max_tokens", **options: Any) -> None:
        self.max_tokens_field = max_tokens_field
        super().__init__(url, **options)

    def request(self, chat: ChatRequest) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": self.model,
            "messages": [{"role": m.role, "content": m.content} for m in chat.messages],
            self.max_tokens_field: chat.max_tokens,
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        if chat.temperature is not None:
            body["temperature"] = chat.temperature
        if chat.stop:
            body["stop"] = list(chat.stop)
        if chat.json_mode:
            body["response_format"] = {"type": "json_object"}
        return body

    def reader(self) -> "OpenAIReader":
        return OpenAIReader()


class OpenAIReader(EventReader):
    """Ignores reasoning, which comes in separate fields (`reasoning_content`, `reasoning`)."""

    def event(self, data: dict[str, Any]) -> str:
        return self._choice(data, "delta")

    def whole(self, answer: dict[str, Any]) -> str:
        self.is_done = True
        if not answer.get("choices"):
            raise ProviderBadResponse("The provider's answer has no choices.")
        return self._choice(answer, "message")

    def _choice(self, data: dict[str, Any], field: str) -> str:
        usage = as_object(data.get("usage"))
        if usage:
            self._prompt_tokens = usage.get("prompt_tokens")
            self._completion_tokens = usage.get("completion_tokens")
        choices = data.get("choices")
        if not isinstance(choices, list):
            raise ProviderBadResponse("The provider's answer has no choices.")
        if not choices:  # the event with the usage
            return ""
        choice = as_object(choices[0])
        message = as_object(choice.get(field))
        if message.get("refusal"):
            self.finish = "refused"
        reason = choice.get("finish_reason")
        if reason and self.finish is None:
            self.finish = REASONS.get(str(reason), "unknown")
        return text_of(message.get("content"))
