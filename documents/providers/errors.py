"""Errors of calls to model providers.

The HTTP client and the embedders raise these. Language models and rerankers raise subclasses with
their own codes, and a failed embedding keeps the code of its cause.
"""


class ProviderFailed(Exception):
    """A call failed. The message is ours, because the provider's may contain an address or a
    key."""

    code = "provider_failed"
    http_status = 502  # of our response to the client
    is_retryable = False  # whether the same call may succeed a moment later

    def __init__(
        self, message: str, *, status: int | None = None, retry_after: float | None = None
    ) -> None:
        super().__init__(message)
        self.status = status  # HTTP status of the provider's response, if any
        self.retry_after = retry_after  # seconds, if the provider sent them


class ProviderTimeout(ProviderFailed):
    """No complete response arrived in time."""

    code = "provider_timeout"
    http_status = 504
    is_retryable = True


class ProviderUnavailable(ProviderFailed):
    """The provider cannot be reached, is overloaded or broken."""

    code = "provider_unavailable"
    http_status = 503
    is_retryable = True


class ProviderRateLimited(ProviderUnavailable):
    code = "provider_rate_limited"


class ProviderBrokeOff(ProviderFailed):
    """The connection ended before the response did."""

    code = "provider_unavailable"
    is_retryable = True


class ProviderRefused(ProviderFailed):
    """The provider rejects the call: a wrong key, an unknown model, a redirect, a text too long."""

    code = "provider_refused"


class ProviderBadResponse(ProviderFailed):
    """The response does not have the expected form."""

    code = "provider_bad_response"
