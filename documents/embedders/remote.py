"""Common parts of embedding APIs: retries within one deadline, rate limits, checked responses.

The operator chose the address, so it may be private (documents/providers/http_api.py). Errors and
logs contain neither the key nor the provider's messages.
"""

import base64
import binascii
import logging
import math
import re
import struct
import time
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from documents.embedders.base import Embedder, Vectors, identity_of
from documents.providers.errors import ProviderBadResponse, ProviderFailed, ProviderRateLimited
from documents.providers.http_api import Provider
from documents.providers.retries import pause_before_retry

if TYPE_CHECKING:
    from tokenizers import Tokenizer

logger = logging.getLogger(__name__)

SHORTEN = ("no", "server", "here")
MIN_ANSWER_BYTES, ANSWER_BYTES_PER_NUMBER = 1_000_000, 40  # bytes; a number takes 10 to 25
MAX_MODEL_DIMENSIONS = 8192  # dimensions, before shortening

# To estimate tokens: a word's first eight letters are one, every further four another; three digits
# are one, other ASCII signs one each, and two bytes of anything else are one.
PIECE = re.compile(r"[A-Za-z]+|[0-9]+|[^\x00-\x7f]+|[^\sA-Za-z0-9]", re.ASCII)


class RateLimiter(Protocol):
    """Decides when the next call may begin; shared by all processes that call a provider."""

    def wait(self, tokens: int, *, deadline: float, is_urgent: bool) -> bool:
        """Wait for our turn; return False at once if that would be after the deadline. An urgent
        call does not queue, but respects a provider's request to back off."""
        ...

    def back_off(self, seconds: float) -> None:
        """Make no calls for this long: the provider asked for it."""
        ...


class NoRateLimit:
    def wait(self, tokens: int, *, deadline: float, is_urgent: bool) -> bool:
        return True

    def back_off(self, seconds: float) -> None:
        return None


class RemoteEmbedder(Embedder):
    """`dimensions` are those of the stored vectors. If the model has more, `shorten` says who
    shortens them: the "server", by a request parameter, or this class ("here").

    `tokenizer`, the path of a tokenizer.json, makes token counts exact; without it they are
    estimated. Change `revision` when the model behind a name has changed.
    """

    provider: str
    path: str

    def __init__(
        self,
        url: str,
        *,
        model: str,
        dimensions: int,
        key: str = "",
        revision: str = "",
        shorten: str = "no",
        query_prefix: str = "",
        document_prefix: str = "",
        max_tokens: int = 8191,
        tokenizer: str = "",
        batch_size: int = 64,
        concurrency: int = 2,
        retries: int = 5,
        timeout: float = 60.0,
        deadline: float = 300.0,
        query_deadline: float = 5.0,
        price: float = 0.0,
        requests_per_minute: float = 0,
        tokens_per_minute: float = 0,
    ) -> None:
        if not model:
            raise ValueError("a remote embedder needs the name of its model")
        if min(dimensions, max_tokens, batch_size, concurrency) < 1:
            raise ValueError("dimensions, max_tokens, batch_size and concurrency must be 1 or more")
        if min(retries, price, requests_per_minute, tokens_per_minute) < 0:
            raise ValueError("retries, price and the limits of a minute must be 0 or more")
        if min(timeout, deadline, query_deadline) <= 0 or shorten not in SHORTEN:
            raise ValueError(f"times must be above 0, and shorten one of {', '.join(SHORTEN)}")
        self.model, self.dimensions, self.revision = model, dimensions, revision
        self.shorten = shorten
        self.query_prefix, self.document_prefix = query_prefix, document_prefix
        self.batch_size, self.concurrency = batch_size, concurrency
        self.retries, self.timeout = retries, timeout
        self.deadline, self.query_deadline = deadline, query_deadline
        self.price = price
        self.requests_per_minute = requests_per_minute  # 0: no limit
        self.tokens_per_minute = tokens_per_minute
        self.rate_limiter: RateLimiter = NoRateLimit()
        self._tokenizer_path = Path(tokenizer).expanduser() if tokenizer else None
        self._api = Provider(
            url,
            self.path,
            key=key,
            max_bytes=MIN_ANSWER_BYTES
            + ANSWER_BYTES_PER_NUMBER * batch_size * MAX_MODEL_DIMENSIONS,
            max_calls=concurrency + 4,  # a hanging call occupies a slot until its deadline
        )
        self.max_tokens = max_tokens - max(self.count_tokens([query_prefix, document_prefix]))
        if self.max_tokens < 1:
            raise ValueError("the prefixes leave the model no room for a text")

    @abstractmethod
    def request(self, texts: list[str]) -> dict[str, Any]:
        """Return the body of the call."""

    @abstractmethod
    def read(self, answer: Mapping[str, Any], count: int) -> tuple[list[Any], int | None]:
        """Return the raw vectors in the order of the texts, and the tokens if reported."""

    @cached_property
    def identity(self) -> str:
        prefixes = self.query_prefix, self.document_prefix
        return identity_of(
            self.provider, self.model, self.revision, self.dimensions, prefixes=prefixes
        )

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        if self._tokenizer_path is None:
            return [estimate_tokens(text) for text in texts]
        return [len(self._tokenizer.encode(text, add_special_tokens=False)) for text in texts]

    def embed_batch(self, texts: list[str]) -> Vectors:
        return self.embed_metered(texts)[0]

    def embed_metered(self, texts: list[str]) -> tuple[Vectors, int]:
        prefixed = [self.document_prefix + text for text in texts]
        return self._embed(prefixed, time.monotonic() + self.deadline, is_urgent=False)

    def embed_query_batch(self, texts: list[str]) -> Vectors:
        prefixed = [self.query_prefix + text for text in texts]
        return self._embed(prefixed, time.monotonic() + self.query_deadline, is_urgent=True)[0]

    def _embed(self, texts: list[str], deadline: float, *, is_urgent: bool) -> tuple[Vectors, int]:
        estimate = sum(self.count_tokens(texts))
        answer = self._post_with_retries(
            self.request(texts), estimate, deadline, is_urgent=is_urgent
        )
        if not isinstance(answer, dict):
            raise ProviderBadResponse("The provider's answer is not what was asked for.")
        vectors, tokens = self.read(answer, len(texts))
        return [self._vector(vector) for vector in vectors], estimate if tokens is None else tokens

    def _post_with_retries(
        self, body: dict[str, Any], tokens: int, deadline: float, *, is_urgent: bool
    ) -> Any:
        """Call the API, with retries, always before the deadline."""
        for number in range(self.retries + 1):
            if not self.rate_limiter.wait(tokens, deadline=deadline, is_urgent=is_urgent):
                raise ProviderRateLimited("The provider's limits leave no room in time.")
            try:
                return self._api.post(body, deadline=min(deadline, time.monotonic() + self.timeout))
            except ProviderFailed as error:
                pause = pause_before_retry(number, error.retry_after)
                if error.retry_after:
                    self.rate_limiter.back_off(error.retry_after)
                is_late = time.monotonic() + pause >= deadline
                if number == self.retries or is_late or not error.is_retryable:
                    raise
                fields = {"provider": self.provider, "status": error.status, "try": number + 1}
                logger.info("embedder.retry", extra={**fields, "pause_s": round(pause, 2)})
                time.sleep(pause)
        raise AssertionError("unreachable")

    def _vector(self, raw: Any) -> list[float]:
        """Normalise a vector. Invalid ones are returned unchanged for the base class to reject."""
        numbers = _numbers(raw)
        if self.shorten == "here":
            numbers = numbers[: self.dimensions]
        length = math.hypot(*numbers)
        if not math.isfinite(length) or length == 0:
            return numbers
        return [number / length for number in numbers]

    @cached_property
    def _tokenizer(self) -> "Tokenizer":
        from tokenizers import Tokenizer

        tokenizer = Tokenizer.from_file(str(self._tokenizer_path))
        tokenizer.no_truncation()
        tokenizer.no_padding()
        return tokenizer


def estimate_tokens(text: str) -> int:
    return sum(map(_weight, PIECE.findall(text)))


def _weight(piece: str) -> int:
    if not piece.isascii():
        return -(-len(piece.encode("utf-8", "replace")) // 2)
    if piece[0].isdigit():
        return -(-len(piece) // 3)
    return 1 + -(-max(0, len(piece) - 8) // 4)


def _numbers(raw: Any) -> list[float]:
    """Parse a vector: a list of numbers, or base64 of little-endian single precision."""
    try:
        if isinstance(raw, str):
            packed = base64.b64decode(raw, validate=True)
            return list(struct.unpack(f"<{len(packed) // 4}f", packed))
        if isinstance(raw, list) and not any(isinstance(number, bool | str) for number in raw):
            return [float(number) for number in raw]
    except (binascii.Error, struct.error, TypeError, ValueError, OverflowError):
        pass
    raise ProviderBadResponse("The provider's answer has an invalid vector.")
