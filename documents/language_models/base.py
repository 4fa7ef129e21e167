"""The interface of language models, and their errors."""

import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from documents.providers.errors import (
    ProviderBadResponse,
    ProviderBrokeOff,
    ProviderFailed,
    ProviderRefused,
    ProviderTimeout,
    ProviderUnavailable,
)

Role = Literal["system", "user", "assistant"]
FinishReason = Literal["stop", "length", "refused", "unknown"]


@dataclass(frozen=True, slots=True)
class Message:
    role: Role
    content: str


@dataclass(frozen=True, slots=True)
class ChatRequest:
    messages: tuple[Message, ...]
    max_tokens: int = 1000
    temperature: float | None = None  # None: the model's default
    stop: tuple[str, ...] = ()
    json_mode: bool = False  # request a JSON object, if the server supports it


@dataclass(frozen=True, slots=True)
class Usage:
    prompt_tokens: int = 0
    completion_tokens: int = 0
    is_estimated: bool = False  # counted by us, because the provider did not report it

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            self.is_estimated or other.is_estimated,
        )


@dataclass(frozen=True, slots=True)
class AnswerPiece:
    """A part of an answer as it is written. The last piece has the finish reason and the usage; its
    text may be empty."""

    text: str = ""
    finish: FinishReason | None = None
    usage: Usage | None = None


@dataclass(frozen=True, slots=True)
class Completion:
    text: str
    finish: FinishReason
    usage: Usage


class LanguageModelFailed(ProviderFailed):
    """A language model did not respond, or its answer is not usable."""

    code = "language_model_failed"


class LanguageModelTimeout(LanguageModelFailed, ProviderTimeout):
    code = "language_model_timeout"


class LanguageModelUnavailable(LanguageModelFailed, ProviderUnavailable):
    """Unreachable, overloaded or out of budget: the same call may succeed later."""

    code = "language_model_unavailable"


class LanguageModelCostCap(LanguageModelUnavailable):
    """The namespace has reached its monthly cap."""

    code = "cost_cap"


class LanguageModelRefused(LanguageModelFailed, ProviderRefused):
    """A wrong key, an unknown model, or a prompt that is too long."""

    code = "language_model_refused"


class LanguageModelBadResponse(LanguageModelFailed, ProviderBadResponse):
    code = "language_model_bad_response"


class LanguageModelBrokeOff(LanguageModelFailed, ProviderBrokeOff):
    """The connection ended before the answer did."""

    code = "language_model_broke_off"


class Cancelled(Exception):
    """The caller no longer wants the answer; the connection to the provider is closed."""


class LanguageModel(ABC):
    """`context_tokens` is the limit for prompt and answer together. Prices are per million tokens,
    in the operator's currency; 0 if free."""

    context_tokens: int = 8192
    price_in: float = 0.0
    price_out: float = 0.0

    @property
    @abstractmethod
    def identity(self) -> str:
        """Provider and model, e.g. `openai/gpt-5-mini`, under which usage is booked."""

    @abstractmethod
    def stream(
        self,
        request: ChatRequest,
        *,
        deadline: float,
        cancelled: threading.Event | None = None,
    ) -> Iterator[AnswerPiece]:
        """Yield pieces as they arrive, the last one with `finish` and `usage`.

        Ends by `deadline` (time.monotonic()). Retries only before the first piece. Setting
        `cancelled` or closing the iterator closes the connection within half a second and raises
        Cancelled in the waiting thread. Every other failure is a LanguageModelFailed.
        """

    def complete(
        self,
        request: ChatRequest,
        *,
        deadline: float,
        cancelled: threading.Event | None = None,
    ) -> Completion:
        """Return the whole answer at once."""
        texts: list[str] = []
        finish: FinishReason = "unknown"
        usage = Usage(is_estimated=True)
        for piece in self.stream(request, deadline=deadline, cancelled=cancelled):
            texts.append(piece.text)
            finish = piece.finish or finish
            usage = piece.usage or usage
        return Completion("".join(texts), finish, usage)

    def count_tokens(self, text: str) -> int:
        """A conservative estimate: there is no tokenizer for every model."""
        return len(text.encode("utf-8", "replace")) // 3 + 1

    def estimate_usage(self, request: ChatRequest, text: str) -> Usage:
        """Estimate the usage of an answer for which none was reported."""
        prompt = sum(self.count_tokens(message.content) for message in request.messages)
        return Usage(prompt, self.count_tokens(text) if text else 0, is_estimated=True)
