"""What can go wrong between a file and its chunks: whose fault it is, and a stable code."""


class IngestError(Exception):
    """Ours: worth another try. str(error) is a sentence a person understands."""

    code = "ingest_failed"


class BadFile(IngestError):
    """Theirs: only a different file will help."""

    code = "bad_file"


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
