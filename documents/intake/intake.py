"""Accept a document: check it, store the original, and record document, version and job in one
transaction."""

import logging
import uuid
from dataclasses import replace
from typing import Any

from django.db import connection
from django.db.models import Q
from django.db.models.functions import MD5

from documents.accounts import quotas
from documents.collections import membership
from documents.collections.editing import named
from documents.ingestion.editing import update_description
from documents.jobs import queue
from documents.models import Document, DocumentVersion, IngestJob, Namespace
from documents.passages import CONVERSATION
from documents.profiles import chunking_overrides
from ragsite.database.tenancy import namespace

from . import originals
from .checking import Checked, check
from .records import lock_contents_and_sources, new_document, new_version, set_fields, source_hash
from .submissions import (
    DuplicateContent,
    Receipt,
    SourceTaken,
    Submission,
    identity,
)

__all__ = ["DuplicateContent", "Receipt", "Submission", "accept", "identity", "resubmit"]

logger = logging.getLogger(__name__)

Status = Document.Status


def accept(namespace_id: uuid.UUID, submission: Submission) -> Receipt:
    """Accept one document. When this returns, a crash cannot lose it."""
    checked = check(submission)
    warnings = chunking_overrides.check(namespace_id, submission.chunking)
    with namespace(namespace_id):
        known, document = _look_up(checked)
        if known:  # a repeated upload: nothing is stored
            _collect(namespace_id, known, submission)
            return _with_warnings(known, checked, warnings)
        quotas.require_room(namespace_id, documents=document is None, bytes=checked.size)
    key = originals.store(submission.content, namespace_id=namespace_id)
    try:
        with namespace(namespace_id):
            receipt, kept = _record(namespace_id, checked, key)
            _collect(namespace_id, receipt, submission)
    except BaseException:
        originals.remove(key)
        raise
    if not kept:  # the same bytes were uploaded in the meantime
        originals.remove(key)
    return _with_warnings(receipt, checked, warnings)


def _collect(namespace_id: uuid.UUID, receipt: Receipt, submission: Submission) -> None:
    if submission.collection:
        collection = named(namespace_id, submission.collection)
        membership.add(collection, {receipt.document_id: None})


def resubmit(namespace_id: uuid.UUID, document_id: uuid.UUID) -> Receipt:
    """Queue a document's newest version again, after a failure or a change of profile."""
    with namespace(namespace_id):
        document = Document.objects.select_for_update().get(pk=document_id)
        version = _newest_version(document)
        return _queue(document, version)


def _record(namespace_id: uuid.UUID, checked: Checked, key: str) -> tuple[Receipt, bool]:
    """Write document, version and job; also return whether the stored original is used."""
    lock_contents_and_sources(namespace_id, [checked])
    known, document = _look_up(checked)
    if known:
        return known, False
    is_new = document is None
    warnings: tuple[str, ...] = ()
    if document is None:
        document = new_document(namespace_id, checked)
    else:
        if not checked.submission.source_uri:
            warnings = (_replacement_warning(document),)
        document.document_version += 1
        set_fields(document, checked)
    document.save()
    if not is_new:
        queue.supersede(document)
    version = new_version(document, checked, key)
    version.save()
    quotas.require_not_exceeded(namespace_id, documents=is_new, bytes=checked.size)
    job = queue.add_job(document, version)
    receipt = Receipt(
        document.pk,
        version.number,
        Status.QUEUED,
        job_id=job.pk,
        source_uri=document.source_uri,
        warnings=warnings,
    )
    return receipt, True


def _replacement_warning(document: Document) -> str:
    """Warn a client that uploads two files with the same name and may expect to keep both."""
    return (
        f"{document.source_uri!r} was known by its name: this is its version "
        f"{document.document_version + 1}. To keep both, give each a source_uri."
    )


def _look_up(checked: Checked) -> tuple[Receipt | None, Document | None]:
    """Return a receipt if these bytes are known and need no new version, and the source's document
    if there is one. Raises SourceTaken, DuplicateContent."""
    if _is_new(checked):
        return None, None
    document = _document_by_source(checked.source_uri)
    if document is not None and checked.submission.origin not in ("", document.origin):
        came_from = document.origin or "an upload"
        raise SourceTaken(
            f"{document.source_uri!r} is here already and came from {came_from}: give the files "
            "a prefix, or adopt the document."
        )
    return _known(checked, document), document


def _is_new(checked: Checked) -> bool:
    """Whether neither source nor bytes are known: one query for the most common case."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT NOT EXISTS (SELECT FROM documents_document "
            "WHERE md5(source_uri) = %s OR content_sha256 = %s)",
            [source_hash(checked.source_uri), checked.sha256],
        )
        is_new: bool = cursor.fetchone()[0]
    return is_new


def _known(checked: Checked, document: Document | None) -> Receipt | None:
    if document is not None:
        if document.content_sha256 != checked.sha256:
            return None
        changes_options = _change_options(document, checked)
        failed = document.status in (Status.FAILED, Status.CANCELLED)
        version = _newest_version(document)
        encoding_changed = _change_encoding(version, checked)
        change = update_description(document, checked.submission)
        # Retried after a failure, and reindexed for a new title, because chunks are found by its
        # words.
        if failed or changes_options or encoding_changed or change.title or _is_outdated(document):
            return replace(_queue(document, version), updated=bool(change))
        return replace(_duplicate(document), updated=bool(change))
    if checked.submission.on_duplicate == "keep":
        return None
    twins = Document.objects.filter(content_sha256=checked.sha256)
    unusable = Q(status__in=(Status.FAILED, Status.CANCELLED)) | Q(source_type=CONVERSATION)
    twin = twins.exclude(unusable).order_by("created_at").first()
    if twin is None:
        return None
    if checked.submission.on_duplicate == "error":
        raise DuplicateContent(f"The same content is already here as {twin.source_uri!r}.")
    return _duplicate(twin, warnings=_ignored_fields_warning(twin, checked))


def _duplicate(document: Document, *, warnings: tuple[str, ...] = ()) -> Receipt:
    open_job = IngestJob.objects.filter(document=document, state__in=queue.OPEN_STATES).first()
    return Receipt(
        document_id=document.pk,
        version=document.document_version,
        status=document.status,
        job_id=open_job.pk if open_job else None,
        duplicate=True,
        source_uri=document.source_uri,
        warnings=warnings,
    )


def _ignored_fields_warning(twin: Document, checked: Checked) -> tuple[str, ...]:
    """Warn about submitted fields that are not applied, because the bytes belong to another
    source."""
    submission = checked.submission
    sent = {"title": submission.title, "tags": submission.tags, "metadata": submission.metadata}
    ignored = [name for name, value in sent.items() if value and twin.given.get(name) != value]
    if _changes_facts(twin, checked):
        ignored.append("rows_as_facts")
    if chunking_overrides.is_changed_by(twin, submission.chunking):
        ignored.append("chunking")
    if not ignored:
        return ()
    return (
        f"The content is here already as {twin.source_uri!r}, and {', '.join(ignored)} were not "
        "applied to it: use PATCH, or on_duplicate=keep for a document of its own.",
    )


def _change_options(document: Document, checked: Checked) -> bool:
    """Store changed options for the same bytes: rows as facts, chunking. True if any changed."""
    changed: dict[str, Any] = {}
    if _changes_facts(document, checked):
        changed["rows_as_facts"] = checked.submission.rows_as_facts
    chunking = checked.submission.chunking
    if chunking is not None and chunking_overrides.is_changed_by(document, chunking):
        changed["chunking"] = chunking.as_json()
    if changed:
        document.given |= changed
        document.save(update_fields=["given"])
    return bool(changed)


def _change_encoding(version: DocumentVersion, checked: Checked) -> bool:
    """Store another encoding for the same bytes; True if it changed."""
    encoding = checked.submission.encoding
    # Detecting any other encoding leaves a warning.
    was_utf8 = not version.encoding and not version.warnings
    if not encoding or encoding == version.encoding or (was_utf8 and encoding == "utf-8"):
        return False
    version.encoding = encoding
    version.save(update_fields=["encoding"])
    return True


def _changes_facts(document: Document, checked: Checked) -> bool:
    """Whether the submission turns facts from rows on or off."""
    requested = checked.submission.rows_as_facts
    before = document.given.get("rows_as_facts", False)
    return checked.has_rows and requested is not None and requested != before


def _with_warnings(receipt: Receipt, checked: Checked, warnings: tuple[str, ...]) -> Receipt:
    if checked.submission.rows_as_facts and not checked.has_rows:
        no_rows = f"rows_as_facts has no effect here: {checked.media_type} has no rows."
        warnings = (*warnings, no_rows)
    return replace(receipt, warnings=(*receipt.warnings, *warnings))


def _queue(document: Document, version: DocumentVersion) -> Receipt:
    job = IngestJob.objects.filter(version=version, state__in=queue.OPEN_STATES).first()
    job = job or queue.enqueue(document, version)
    return Receipt(
        document.pk,
        version.number,
        Status.QUEUED,
        job_id=job.pk,
        source_uri=document.source_uri,
    )


def _document_by_source(source_uri: str) -> Document | None:
    digest = source_hash(source_uri)
    documents = Document.objects.select_for_update().alias(source_hash=MD5("source_uri"))
    return documents.filter(source_hash=digest, source_uri=source_uri).first()


def _newest_version(document: Document) -> DocumentVersion:
    versions = DocumentVersion.objects.defer("text")
    return versions.get(document=document, number=document.document_version)


def _is_outdated(document: Document) -> bool:
    """Whether the document was indexed by another ingestion version than the profile's current."""
    if document.status != Status.READY:
        return False
    current = Namespace.objects.values_list("active_profile__ingestion_version", flat=True).get(
        pk=document.namespace_id
    )
    return document.ingestion_version != current
