"""What a client submits, how the document is identified, and the receipt."""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from django.core.files.base import File

from documents.chunking.methods import ChunkingOptions
from documents.errors import BadFile

OnDuplicate = Literal["skip", "keep", "error"]


class DuplicateContent(BadFile):
    code = "duplicate_content"


class UnknownEncoding(BadFile):
    code = "unknown_encoding"


class SourceTaken(BadFile):
    """A document of another origin has this source_uri, and would be lost if it were replaced."""

    code = "source_uri_taken"


@dataclass(frozen=True, slots=True)
class Submission:
    """One document as it arrives. Fields that are None were not submitted and keep their value."""

    content: File
    file_name: str = ""
    media_type: str = ""
    source_uri: str = ""
    title: str | None = None
    tags: Sequence[str] | None = None
    metadata: Mapping[str, Any] | None = None
    rows_as_facts: bool | None = None
    chunking: ChunkingOptions | None = None  # ChunkingOptions(): back to the profile's own
    on_duplicate: OnDuplicate = "skip"
    encoding: str = ""  # encoding of its text; blank: detected
    collection: str = ""  # name of the collection to add it to, which is created if necessary
    origin: str = ""  # the folder it is kept in sync with, if any


@dataclass(frozen=True, slots=True)
class Receipt:
    """The outcome of a submission: queued under a job, or a duplicate."""

    document_id: uuid.UUID
    version: int
    status: str
    job_id: uuid.UUID | None = None
    duplicate: bool = False
    source_uri: str = ""
    updated: bool = False  # the bytes were known, but title, tags or metadata changed
    warnings: tuple[str, ...] = field(default=())


def identity(submission: Submission) -> str:
    """Return the source_uri a document will have; "" for text with neither source nor name."""
    by_name = f"upload:{submission.file_name}" if submission.file_name else ""
    return submission.source_uri or by_name
