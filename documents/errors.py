"""Errors between a file and its chunks. Each says whose fault it is and has a stable code."""

from typing import Any


class IngestError(Exception):
    """Our fault, and worth a retry. str(error) is a sentence for people."""

    code = "ingest_failed"
    is_final = False  # True: a retry would fail again
    details: dict[str, Any] | None = None  # for programs, where the sentence has figures


class BadFile(IngestError):
    """The file's fault: only a different file will help."""

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


class EmbeddingProviderFailed(EmbeddingFailed):
    """The API behind an embedder failed. The code is that of its documents.providers error."""

    def __init__(self, message: str, *, code: str) -> None:
        super().__init__(message)
        self.code = code


class CostCap(IngestError):
    """The cost would exceed the operator's cap."""

    code = "cost_cap"
    is_final = True


class QuotaExceeded(IngestError):
    """The namespace has reached its quota."""

    code = "quota_exceeded"
    is_final = True

    def __init__(self, name: str, *, quota: int, used: int, asked: int) -> None:
        super().__init__(
            f"This namespace may hold {quota:,} {name}; it holds {used:,}, and {asked:,} more "
            "were asked for."
        )
        self.details = {"quota": name, "limit": quota, "used": used, "asked": asked}
