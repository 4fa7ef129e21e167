"""Where the server is, the key, and how patient to be."""

import os
import random
from dataclasses import dataclass, field

import httpx2

from .errors import RagsiteError

DEFAULT_URL = "http://127.0.0.1:8000"
API_PATH = "/api/v1/"
FIRST_PAUSE = 0.5
MAX_PAUSE = 8.0


@dataclass(frozen=True)
class Settings:
    base_url: str
    api_key: str = field(repr=False)
    timeout: float = 60.0  # seconds without a byte, not of the whole request
    max_retries: int = 2
    max_retry_after: float = 60.0  # longer waits are raised at once

    @classmethod
    def read(
        cls,
        base_url: str | None,
        api_key: str | None,
        timeout: float,
        max_retries: int,
        max_retry_after: float,
    ) -> "Settings":
        """Arguments first, then RAGSITE_URL and RAGSITE_API_KEY."""
        key = (api_key or os.environ.get("RAGSITE_API_KEY", "")).strip()
        if not key:
            raise RagsiteError("No API key: pass api_key, or set RAGSITE_API_KEY.")
        if not key.isascii() or not key.isprintable():
            raise RagsiteError("The API key has characters that no key has.")
        url = (base_url or os.environ.get("RAGSITE_URL", "") or DEFAULT_URL).rstrip("/")
        if not url.startswith(("http://", "https://")):
            raise RagsiteError(f"base_url must begin with http:// or https://, not {url!r}.")
        url = url.removesuffix(API_PATH.rstrip("/"))  # with or without it
        if max_retries < 0:
            raise RagsiteError("max_retries must not be negative.")
        return cls(url, key, timeout, max_retries, max_retry_after)

    @property
    def api_url(self) -> str:
        return self.base_url + API_PATH

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.api_key}", "User-Agent": "ragsite-client"}

    def pause(self, attempt: int, retry_after: float | None) -> float:
        """Seconds before the next attempt: the server's word, else doubling with jitter."""
        if retry_after is not None:
            return retry_after
        pause = min(MAX_PAUSE, FIRST_PAUSE * float(2**attempt))
        return pause * random.uniform(0.5, 1.0)  # noqa: S311

    def timeouts(self, extra: float = 0.0) -> httpx2.Timeout:
        """`extra`: seconds for which the server was asked to wait."""
        return httpx2.Timeout(self.timeout + extra, connect=min(10.0, self.timeout))
