"""Readers of the responses of language model APIs, line by line."""

import json
from abc import ABC, abstractmethod
from typing import Any

from documents.language_models.base import FinishReason, Usage
from documents.providers.errors import (
    ProviderBadResponse,
    ProviderBrokeOff,
    ProviderRefused,
    ProviderUnavailable,
)

MAX_UNFRAMED = 1_000_000  # bytes of lines that are not events: a whole answer, or a page of HTML
FOREVER = frozenset(  # kinds of errors that a repeated call would get again
    {
        "invalid_request_error",
        "authentication_error",
        "permission_error",
        "not_found_error",
        "request_too_large",
        "billing_error",
        "insufficient_quota",
    }
)


class StreamReader(ABC):
    """Reads one answer. `is_done` is set when the end of the answer was read."""

    def __init__(self) -> None:
        self.finish: FinishReason | None = None
        self.is_done = False
        self._prompt_tokens: Any = None
        self._completion_tokens: Any = None

    @property
    def usage(self) -> Usage | None:
        """None unless the provider reported both numbers."""
        prompt, completion = self._prompt_tokens, self._completion_tokens
        if type(prompt) is int and type(completion) is int and min(prompt, completion) >= 0:
            return Usage(prompt, completion)
        return None

    @abstractmethod
    def feed(self, line: bytes) -> str:
        """Return the text that this line adds."""

    def end(self) -> str:
        """Called at the end of the stream; return any remaining text."""
        if self.finish is None and not self.is_done:
            raise ProviderBrokeOff("The provider's answer has no end.")
        return ""


class EventReader(StreamReader):
    """Reads server-sent events with JSON data, or a single JSON object from servers that ignore the
    request to stream."""

    def __init__(self) -> None:
        super().__init__()
        self._has_events = False
        self._unframed: list[bytes] = []
        self._unframed_size = 0

    @abstractmethod
    def event(self, data: dict[str, Any]) -> str:
        """Return the text that this event adds."""

    @abstractmethod
    def whole(self, answer: dict[str, Any]) -> str:
        """Return the text of an answer that was not streamed."""

    def feed(self, line: bytes) -> str:
        name, colon, value = line.partition(b":")
        if colon and name == b"data":
            self._has_events = True
            return self._data(value.strip())
        if not self._has_events and name not in (b"", b"event", b"id", b"retry"):
            self._unframed.append(line)
            self._unframed_size += len(line)
            if self._unframed_size > MAX_UNFRAMED:
                raise ProviderBadResponse("The provider's answer is no stream of events.")
        return ""

    def end(self) -> str:
        text = ""
        if self._unframed and not self._has_events:
            text = self.whole(json_object(b"\n".join(self._unframed)))
        return text + super().end()

    def _data(self, value: bytes) -> str:
        if value == b"[DONE]":
            self.is_done = True
            return ""
        return self.event(json_object(value)) if value else ""


def json_object(content: bytes) -> dict[str, Any]:
    """Parse an object; raise if it reports an error."""
    try:
        value = json.loads(content)
    except (ValueError, RecursionError):
        raise ProviderBadResponse("The provider's answer is not JSON.") from None
    if not isinstance(value, dict):
        raise ProviderBadResponse("The provider's answer is not what was asked for.")
    if error := value.get("error"):
        raise_reported(error)
    return value


def raise_reported(error: Any) -> None:
    """Raise an error that came with status 200, without the provider's message."""
    kinds = {error.get("type"), error.get("code")} if isinstance(error, dict) else set()
    if kinds & FOREVER:
        raise ProviderRefused("The provider refused the request.")
    raise ProviderUnavailable("The provider reported an error of its own.")


def text_of(value: Any) -> str:
    """Return the text, or "" for None; raise for anything else."""
    if value is None:
        return ""
    if not isinstance(value, str):
        raise ProviderBadResponse("The provider's answer holds something else than text.")
    return value


def as_object(value: Any) -> dict[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise ProviderBadResponse("The provider's answer is not what was asked for.")
    return value
