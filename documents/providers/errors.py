"""Everything that can go wrong with a call to a provider of models, in one vocabulary.

The HTTP client and the embedders raise these as they are. Language models and rerankers raise
subclasses with codes of their own, and a failed embedding keeps the code of its cause.
"""


class ProviderFailed(Exception):
    """A call failed. The message is ours: a provider's own words may hold its address or a key."""

    code = "provider_failed"
    http_status = 502  # of our own answer to a client who has to be told
    is_retryable = False  # True: the same call may succeed a moment later

    def __init__(
        self, message: str, *, status: int | None = None, retry_after: float | None = None
    ) -> None:
        super().__init__(message)
        self.status = status  # HTTP status of the provider's answer, if there was one
        self.retry_after = retry_after  # seconds, if the provider named them


class ProviderTimeout(ProviderFailed):
    """There was no complete answer in time."""

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
    """The connection ended before the answer did."""

    code = "provider_unavailable"
    is_retryable = True


class ProviderRefused(ProviderFailed):
    """The provider will not do this: a wrong key, an unknown model, a redirect, a long text."""

    code = "provider_refused"


class ProviderBadResponse(ProviderFailed):
    """The answer is not what was asked for."""

    code = "provider_bad_response"
