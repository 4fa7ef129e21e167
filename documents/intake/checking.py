"""Check a submission: its type, its size, its digest."""

from dataclasses import dataclass

from django.conf import settings

from documents.errors import EmptyFile, TooLarge
from documents.extractors import CHARSET, format_of
from documents.extractors.encodings import encoding_named
from documents.ingestion.editing import RESERVED, is_reserved
from documents.intake import media_types

from . import originals
from .submissions import SourceTaken, Submission, UnknownEncoding, identity


@dataclass(frozen=True, slots=True)
class Checked:
    """A submission that passed the checks, with its media type and digest."""

    submission: Submission
    source_uri: str
    media_type: str
    source_type: str
    sha256: str
    size: int
    has_rows: bool
    charset: str  # declared with the media type; passed on to the extractor

    @property
    def full_media_type(self) -> str:
        return f"{self.media_type}; charset={self.charset}" if self.charset else self.media_type


def check(submission: Submission) -> Checked:
    size = submission.content.size
    if not size:
        raise EmptyFile("The file is empty.")
    if is_reserved(submission.source_uri):
        raise SourceTaken(RESERVED)
    if submission.encoding and not encoding_named(submission.encoding):
        raise UnknownEncoding(f"{submission.encoding[:40]!r} is not a known encoding.")
    declared = submission.media_type
    if declared in media_types.UNINFORMATIVE_TYPES:
        declared = media_types.type_of_uri(submission.source_uri) or declared
    media_type = media_types.detect(
        submission.content, file_name=submission.file_name, declared=declared
    )
    kind = format_of(media_type)
    _check_size(size, kind.source_type)
    submission.content.seek(0)
    sha256 = originals.digest_of(submission.content)
    return Checked(
        submission=submission,
        # Text without a source or a name is identified by its content.
        source_uri=identity(submission) or f"text:{sha256[:32]}",
        media_type=media_type,
        source_type=kind.source_type,
        sha256=sha256,
        size=size,
        has_rows=kind.has_rows,
        charset=_charset(submission.media_type),
    )


def _charset(media_type: str) -> str:
    found = CHARSET.search(media_type)
    return found[1].lower() if found and encoding_named(found[1]) else ""


def _check_size(size: int, source_type: str) -> None:
    of_type = settings.INGEST_MAX_BYTES_BY_TYPE.get(source_type, settings.INGEST_MAX_BYTES)
    limit = min(of_type, settings.INGEST_MAX_BYTES)
    if size > limit:
        raise TooLarge(
            f"The file has {size:,} bytes; files of type {source_type} may have {limit:,} at most."
        )
