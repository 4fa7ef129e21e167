"""A document on its way in: what is submitted, what it will be known by, what became of it."""

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
    """Another folder's document has this source_uri; replacing it would lose one of the two."""

    code = "source_uri_taken"


@dataclass(frozen=True, slots=True)
class Submission:
    """One document as it arrives. What is None was not said, and keeps what was said before."""

    content: File
    file_name: str = ""
    media_type: str = ""
    source_uri: str = ""
    title: str | None = None
    tags: Sequence[str] | None = None
    metadata: Mapping[str, Any] | None = None
    rows_as_facts: bool | None = None
    chunking: ChunkingOptions | None = None  # ChunkingOptions(): the index profile's own again
    on_duplicate: OnDuplicate = "skip"
    encoding: str = ""  # of its text; blank: found out
    origin: str = ""  # the folder it was found in, for documents that are kept in step with one


@dataclass(frozen=True, slots=True)
class Receipt:
    """What became of a submission: queued under a job, or known already."""

    document_id: uuid.UUID
    version: int
    status: str
    job_id: uuid.UUID | None = None
    duplicate: bool = False
    source_uri: str = ""
    updated: bool = False  # the bytes were known; title, tags or metadata were not
    warnings: tuple[str, ...] = field(default=())


def identity(submission: Submission) -> str:
    """What the document will be known by; "" for text that has neither a source nor a name."""
    by_name = f"upload:{submission.file_name}" if submission.file_name else ""
    return submission.source_uri or by_name
