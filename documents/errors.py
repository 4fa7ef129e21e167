"""What can go wrong between a file and its chunks: whose fault it is, and a stable code."""

from typing import Any


class IngestError(Exception):
    """Ours: worth another try. str(error) is a sentence a person understands."""

    code = "ingest_failed"
    is_final = False  # True: the same attempt would only fail again
    details: dict[str, Any] | None = None  # for programs, where the sentence has figures


class BadFile(IngestError):
    """Theirs: only a different file will help."""

    code = "bad_file"
    is_final = True


class UnsupportedType(BadFile):
    code = "unsupported_type"


class EmptyFile(BadFile):
    code = "empty_file"


class NoText(BadFile):
    code = "no_text"


class ParseError(BadFile):
    code = "parse_error"


class Encrypted(BadFile):
    code = "encrypted"


class TooComplex(BadFile):
    code = "too_complex"


class DecompressionBomb(BadFile):
    code = "decompression_bomb"


class XmlForbidden(BadFile):
    code = "xml_forbidden"


class TooLarge(BadFile):
    code = "too_large"


class EmbeddingFailed(IngestError):
    code = "embedding_failed"


class BadVectors(EmbeddingFailed):
    code = "provider_bad_vector"


class ProviderError(EmbeddingFailed):
    """An embedding API did not do what it should."""

    code = "provider_failed"


class ProviderTimedOut(ProviderError):
    code = "provider_timeout"


class ProviderAway(ProviderError):
    """Not reached, overloaded or broken, also after the retries."""

    code = "provider_unavailable"


class ProviderRateLimited(ProviderError):
    code = "provider_rate_limited"


class ProviderRefusal(ProviderError):
    """It answers, and will not do this: a wrong key, an unknown model, a text that is too long."""

    code = "provider_refused"


class ProviderNonsense(ProviderError):
    code = "provider_bad_response"


class CostCap(IngestError):
    """It would cost more than the operator allows."""

    code = "cost_cap"
    is_final = True


class QuotaExceeded(IngestError):
    """The namespace holds as much as it may."""

    code = "quota_exceeded"
    is_final = True

    def __init__(self, name: str, *, quota: int, used: int, asked: int) -> None:
        super().__init__(
            f"This namespace may hold {quota:,} {name}; it holds {used:,}, and {asked:,} more "
            "were asked for."
        )
        self.details = {"quota": name, "limit": quota, "used": used, "asked": asked}
