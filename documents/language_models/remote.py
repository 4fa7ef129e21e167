"""Common parts of language model APIs: one deadline, retries before the first piece, clean text.

A subclass provides the request body and the reader of the stream. The operator chose the address,
so it may be private. Errors contain neither the key nor the provider's messages.
"""

import logging
import threading
import time
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from documents.language_models.base import (
    AnswerPiece,
    Cancelled,
    ChatRequest,
    FinishReason,
    LanguageModel,
    LanguageModelBadResponse,
    LanguageModelBrokeOff,
    LanguageModelFailed,
    LanguageModelRefused,
    LanguageModelTimeout,
    LanguageModelUnavailable,
)
from documents.language_models.reading import StreamReader
from documents.language_models.texts import CleanText
from documents.providers.errors import (
    ProviderBadResponse,
    ProviderBrokeOff,
    ProviderFailed,
    ProviderRefused,
    ProviderTimeout,
)
from documents.providers.retries import pause_before_retry
from documents.providers.streaming import CallCancelled, LineStream, StreamingProvider

logger = logging.getLogger(__name__)

UNDERSTOOD_BUT_REFUSED = (400, 422)
CHARACTERS_PER_TOKEN = 16  # far above any real text: a longer answer is cut
REFUSALS = {
    401: "The language model did not accept the key.",
    403: "The language model did not accept the key.",
    404: "The language model's server does not know this model or address.",
    413: "The prompt is too long for the language model.",
}
FAILURES: dict[type[ProviderFailed], type[LanguageModelFailed]] = {  # anything else: unavailable
    ProviderTimeout: LanguageModelTimeout,
    ProviderBadResponse: LanguageModelBadResponse,
    ProviderRefused: LanguageModelRefused,
    ProviderBrokeOff: LanguageModelBrokeOff,
}


class RemoteLanguageModel(LanguageModel):
    """`first_piece_seconds` limits the wait for data before the first piece of text in one attempt,
    and `idle_seconds` the wait between pieces; the deadline of the call limits both. `body` adds
    fields to every request and `omit` removes fields, for servers with peculiarities. `headers` are
    sent with every call, and the result of `request_id` as X-Request-ID, to match logs."""

    provider: str
    path: str
    key_header = ""
    optional_fields: tuple[str, ...] = ()  # of the body; dropped if the server rejects them

    def __init__(
        self,
        url: str,
        *,
        model: str,
        key: str = "",
        context_tokens: int = 8192,
        price_in: float = 0.0,
        price_out: float = 0.0,
        retries: int = 2,
        first_piece_seconds: float = 60.0,
        idle_seconds: float = 30.0,
        headers: Mapping[str, str] | None = None,
        body: Mapping[str, Any] | None = None,
        omit: Sequence[str] = (),
        concurrency: int = 32,
        request_id: Callable[[], str] = str,
    ) -> None:
        if not model:
            raise ValueError("a language model needs the name of its model")
        if min(context_tokens, concurrency) < 1 or min(retries, price_in, price_out) < 0:
            raise ValueError(
                "context_tokens and concurrency must be 1 or more, retries and prices 0 or more"
            )
        if min(first_piece_seconds, idle_seconds) <= 0:
            raise ValueError("first_piece_seconds and idle_seconds must be above 0")
        self.model, self.context_tokens = model, context_tokens
        self.price_in, self.price_out = price_in, price_out
        self.retries = retries
        self.first_piece_seconds, self.idle_seconds = first_piece_seconds, idle_seconds
        self.body, self.omit = dict(body or {}), tuple(omit)
        self._request_id = request_id
        self._rejected: tuple[str, ...] = ()
        self._api = StreamingProvider(
            url,
            self.path,
            key=key,
            key_header=self.key_header,
            headers={**self.own_headers(), **(headers or {})},
            max_calls=concurrency,
        )

    @property
    def identity(self) -> str:
        return f"{self.provider}/{self.model}"

    @abstractmethod
    def request(self, chat: ChatRequest) -> dict[str, Any]:
        """Return the body of the call."""

    @abstractmethod
    def reader(self) -> StreamReader:
        """Return a new reader for the lines of one answer."""

    def own_headers(self) -> dict[str, str]:
        return {}

    def stream(
        self,
        request: ChatRequest,
        *,
        deadline: float,
        cancelled: threading.Event | None = None,
    ) -> Iterator[AnswerPiece]:
        cancelled = cancelled or threading.Event()
        body = self._without({**self.request(request), **self.body}, *self.omit, *self._rejected)
        number, dropped = 0, list(self._rejected)
        while True:
            pieces = self._try(request, body, deadline=deadline, cancelled=cancelled)
            try:
                first = next(pieces)
                break
            except CallCancelled:
                raise Cancelled from None
            except ProviderFailed as error:
                optional = [name for name in self.optional_fields if name in body]
                if optional and error.status in UNDERSTOOD_BUT_REFUSED:
                    dropped.append(optional[0])
                    body = self._without(body, optional[0])
                    continue
                self._pause(error, number, deadline, cancelled)
                number += 1
        self._rejected = tuple(dropped)  # the call works without these fields
        yield from self._rest(first, pieces)

    def _without(self, body: dict[str, Any], *names: str) -> dict[str, Any]:
        return {name: value for name, value in body.items() if name not in names}

    def _rest(self, first: AnswerPiece, pieces: Iterator[AnswerPiece]) -> Iterator[AnswerPiece]:
        try:
            yield first
            yield from pieces
        except CallCancelled:
            raise Cancelled from None
        except ProviderFailed as error:
            raise failure(error) from error.__cause__
        finally:
            pieces.close()  # type: ignore[attr-defined]  # it is a generator

    def _pause(
        self,
        error: ProviderFailed,
        number: int,
        deadline: float,
        cancelled: threading.Event,
    ) -> None:
        """Wait before the next attempt, or raise."""
        pause = pause_before_retry(number, error.retry_after)
        is_late = time.monotonic() + pause >= deadline
        if number >= self.retries or is_late or not error.is_retryable:
            raise failure(error) from error.__cause__
        fields = {"model": self.identity, "status": error.status, "try": number + 1}
        logger.info("language_model.retry", extra={**fields, "pause_s": round(pause, 2)})
        if cancelled.wait(pause):
            raise Cancelled

    def _try(
        self,
        request: ChatRequest,
        body: dict[str, Any],
        *,
        deadline: float,
        cancelled: threading.Event,
    ) -> Iterator[AnswerPiece]:
        """Make one call. Raises ProviderFailed and CallCancelled."""
        headers = {"X-Request-ID": id_} if (id_ := self._request_id()) else {}
        lines = self._api.stream(body, deadline=deadline, cancelled=cancelled, headers=headers)
        lines.wait_at_most(self.first_piece_seconds)
        try:
            yield from self._pieces(request, lines)
        finally:
            lines.close()

    def _pieces(self, request: ChatRequest, lines: LineStream) -> Iterator[AnswerPiece]:
        reader, clean, texts = self.reader(), CleanText(), []
        room = request.max_tokens * CHARACTERS_PER_TOKEN
        finish: FinishReason | None = None
        for line in lines:
            if text := clean.feed(reader.feed(line))[:room]:
                texts.append(text)
                room -= len(text)
                yield AnswerPiece(text)
            lines.wait_at_most(self.idle_seconds if texts else self.first_piece_seconds)
            if room <= 0:
                finish = "length"
                break
            if reader.is_done:
                lines.finish()
                break
        if finish is None:
            if text := clean.feed(reader.end())[:room] + clean.end():
                texts.append(text)
                yield AnswerPiece(text)
            finish = reader.finish or "unknown"
        usage = reader.usage or self.estimate_usage(request, "".join(texts))
        yield AnswerPiece(finish=finish, usage=usage)


def failure(error: ProviderFailed) -> LanguageModelFailed:
    """Convert a provider error into a language model error."""
    kind = FAILURES.get(type(error), LanguageModelUnavailable)
    sentence = str(error).replace("The provider", "The language model")
    if isinstance(error, ProviderRefused):
        sentence = REFUSALS.get(error.status or 0, sentence)
    return kind(sentence, status=error.status, retry_after=error.retry_after)
