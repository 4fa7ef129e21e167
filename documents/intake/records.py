"""The rows of an accepted submission, and the locks under which they are written."""

import hashlib
import uuid
from collections.abc import Sequence

from django.db import connection
from django.db.models.functions import Now

from documents.models import Document, DocumentVersion

from .checking import Checked

Status = Document.Status


def lock_contents_and_sources(namespace_id: uuid.UUID, submitted: Sequence[Checked]) -> None:
    """Serialize submissions of the same bytes or the same source.

    Without these locks the unique constraints would fail all but one of them.
    """
    names = {
        f"{namespace_id}/{name}" for each in submitted for name in (each.sha256, each.source_uri)
    }
    with connection.cursor() as cursor:
        cursor.execute(  # always in the same order: no deadlock
            "SELECT pg_advisory_xact_lock(number) FROM (SELECT hashtextextended(name, 0) AS number "
            "FROM unnest(%s::text[]) name ORDER BY number) numbers",
            [list(names)],
        )


def source_hash(source_uri: str) -> str:
    """Return the hash in the unique index on source_uri."""
    return hashlib.md5(source_uri.encode(), usedforsecurity=False).hexdigest()


def new_document(namespace_id: uuid.UUID, checked: Checked) -> Document:
    """Not saved yet."""
    document = Document(
        namespace_id=namespace_id,
        source_uri=checked.source_uri,
        origin=checked.submission.origin,
    )
    set_fields(document, checked)
    return document


def set_fields(document: Document, checked: Checked) -> None:
    """Set the document's fields from the submission; tags apply at once, before indexing."""
    submission = checked.submission
    submitted = {
        "title": submission.title,
        "tags": list(submission.tags) if submission.tags is not None else None,
        "metadata": dict(submission.metadata) if submission.metadata is not None else None,
        "rows_as_facts": submission.rows_as_facts,
        "chunking": submission.chunking.as_json() if submission.chunking else None,
    }
    submitted = {name: value for name, value in submitted.items() if value is not None}
    fixed = [name for name in document.given.get("fixed", ()) if name not in submitted]
    document.given = {**document.given, **submitted, "fixed": fixed}
    document.title = document.given.get("title") or document.title or submission.file_name
    document.tags = document.given.get("tags") or document.tags
    document.content_sha256 = checked.sha256
    document.media_type = checked.media_type
    document.source_type = checked.source_type
    document.byte_size = checked.size
    document.status = Status.QUEUED
    document.error_code = document.error_message = ""
    document.updated_at = Now()


def new_version(document: Document, checked: Checked, key: str) -> DocumentVersion:
    """Not saved yet."""
    return DocumentVersion(
        namespace_id=document.namespace_id,
        document=document,
        number=document.document_version,
        content_sha256=checked.sha256,
        media_type=checked.full_media_type,
        byte_size=checked.size,
        storage_key=key,
        file_name=checked.submission.file_name,
        encoding=checked.submission.encoding,
    )
