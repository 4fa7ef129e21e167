"""The one transaction that makes a version searchable: insert new chunks, delete old ones."""

import re
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any, NamedTuple

from django.db import connection
from django.db.models import F
from django.db.models.functions import Now

from documents.accounts import quotas
from documents.chunking.turns import turns_of
from documents.jobs import queue
from documents.jobs.claims import LeaseLost
from documents.jobs.leases import BuildLease, Lease
from documents.models import (
    Chunk,
    Document,
    DocumentVersion,
    Fact,
    IndexProfile,
    IngestJob,
    Namespace,
    Reindex,
)
from documents.passages import CONVERSATION, Extracted, Passage
from documents.profiles.chunking_overrides import requested_by
from documents.text import languages
from documents.webhooks import events
from ragsite.database.tenancy import namespace

from . import terms
from .chunk_rows import insert_chunks
from .editing import effective_date
from .fact_rows import record_rows

_LANGUAGE_CODE = re.compile(r"([a-z]{2})(?:[-_]|$)")


class ProfileSwitched(Exception):
    """The namespace switched profiles while a document was being indexed under the old one."""

    def __init__(self, profile: IndexProfile) -> None:
        super().__init__(profile.name)
        self.profile = profile


class ChunkingChanged(Exception):
    """The document's chunking options changed while it was being indexed."""

    def __init__(self, chunking: Mapping[str, Any]) -> None:
        super().__init__(str(chunking))
        self.chunking = chunking


class ActiveProfile(NamedTuple):
    """The profile that a namespace's searches use, and the namespace's language."""

    profile_id: uuid.UUID
    language: str


def publish(
    lease: Lease,
    version: DocumentVersion,
    profile: IndexProfile,
    extracted: Extracted,
    passages: Sequence[Passage],
    vectors: Sequence[str],
    *,
    chunking: Mapping[str, Any] | None = None,
) -> bool:
    """Publish a version under the active profile; return whether to recount the namespace's words.

    Searches see the old version or the new one, never a mix and never nothing. A profile that is
    being built or kept next to the active one follows later (reindex/build.py). Nothing is written
    if this raises: ProfileSwitched if another profile is active by now, ChunkingChanged if the
    document's options are no longer `chunking`, QuotaExceeded if there would be too many chunks.
    """
    with namespace(version.namespace_id):
        document = _locked(version.document_id)
        if document is None:
            raise LeaseLost(lease.claim.job_id)
        active = lock_active_profile(version.namespace_id)
        # First, so that a worker that lost its lease stops before it writes anything.
        _end_job(lease, passages=len(passages))
        if active.profile_id != profile.pk:
            raise ProfileSwitched(IndexProfile.objects.get(pk=active.profile_id))
        if requested_by(document) != (chunking or {}):
            raise ChunkingChanged(requested_by(document))
        before = document.live_version
        if before is not None and before > version.number:  # a newer version was faster
            if document.source_type == CONVERSATION:  # its previous state is not needed any more
                extracted = Extracted("")
            _write_version(version, extracted, DocumentVersion.State.SUPERSEDED, chunking)
            return False
        removed = _clear(document, version, profile, extracted) if before is not None else 0
        describe(document, version, profile, extracted, passages, active.language)
        document.save()
        insert_chunks(document, version, profile, extracted, passages, vectors)
        warnings = record_rows(document, version, extracted)
        extracted = replace(extracted, warnings=(*extracted.warnings, *warnings))
        _write_version(version, extracted, DocumentVersion.State.LIVE, chunking)
        if document.source_type == CONVERSATION:
            DocumentVersion.objects.filter(document=document, number__lt=version.number).delete()
        if Reindex.objects.filter(state__in=Reindex.OPEN).update(has_work=True):
            queue.wake_workers()
        events.document_ready(document, version)
        # Last, because it locks the namespace's row against other publishers.
        added = len(passages) - removed
        is_stale = terms.record_growth(
            version.namespace_id, profile, chunks=added, languages=[document.language]
        )
        quotas.require_not_exceeded(version.namespace_id, chunks=added)
        return is_stale


def _end_job(lease: Lease, *, passages: int) -> None:
    lease.claim.release(
        state=IngestJob.State.SUCCEEDED,
        stage=IngestJob.Stage.DONE,
        finished_at=Now(),
        passages_done=passages,
        passages_total=passages,
        times_ms=lease.times_ms,
        error_code="",
        error_message="",
    )


def publish_for_reindex(
    lease: BuildLease,
    version: DocumentVersion,
    profile: IndexProfile,
    extracted: Extracted,
    passages: Sequence[Passage],
    vectors: Sequence[str],
    chunking: Mapping[str, Any] | None = None,
) -> bool:
    """Store the live version's chunks under one more profile and add warnings to the version.

    Returns False if the version is no longer live or its chunking options have changed.
    """
    with namespace(version.namespace_id):
        document = _locked(version.document_id)
        if document is None or document.live_version != version.number:
            return False
        if requested_by(document) != (chunking or {}):
            return False
        _add_warnings(version, extracted.warnings)
        active = lock_active_profile(version.namespace_id)
        built = {"documents_built": F("documents_built") + 1}
        lease.claim.write(**built, chunks_built=F("chunks_built") + len(passages))
        removed, _ = Chunk.objects.filter(document=document, profile=profile).delete()
        insert_chunks(document, version, profile, extracted, passages, vectors)
        if profile.pk == active.profile_id:  # after a rollback to a profile that was incomplete
            Namespace.objects.filter(pk=version.namespace_id).update(
                revision=F("revision") + 1, chunk_count=F("chunk_count") + len(passages) - removed
            )
        return True


def _locked(document_id: uuid.UUID) -> Document | None:
    try:
        return Document.objects.select_for_update().get(pk=document_id)
    except Document.DoesNotExist:
        return None


def lock_active_profile(namespace_id: uuid.UUID) -> ActiveProfile:
    """Return the active profile, which stays the same until the transaction ends.

    Publishers share this lock; a switch of profile takes the row FOR UPDATE. Inside namespace().
    """
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT active_profile_id, language FROM documents_namespace WHERE id = %s "
            "FOR KEY SHARE",
            [namespace_id],
        )
        return ActiveProfile(*cursor.fetchone())


def _clear(
    document: Document, version: DocumentVersion, profile: IndexProfile, extracted: Extracted
) -> int:
    """Delete the previous version's chunks and facts; return how many chunks under this profile."""
    removed, _ = Chunk.objects.filter(document=document, profile=profile).delete()
    chunking_changed = version.outline.get("chunking", {}) != requested_by(document)
    if version.published_at is not None and (version.text != extracted.text or chunking_changed):
        # This version was published before, and its text or chunking has changed since: its chunks
        # under other profiles are wrong, too, and will be rebuilt.
        Chunk.objects.filter(version=version).delete()
    Fact.objects.filter(document=document, source=Fact.Source.ROW).delete()
    live = DocumentVersion.objects.filter(document=document, state=DocumentVersion.State.LIVE)
    live.exclude(pk=version.pk).update(state=DocumentVersion.State.SUPERSEDED)
    return removed


def describe(
    document: Document,
    version: DocumentVersion,
    profile: IndexProfile,
    extracted: Extracted,
    passages: Sequence[Passage],
    language: str,
) -> None:
    """Set the document's fields. The uploader's values take precedence over the file's own.
    Not saved yet."""
    given = document.given
    document.title = given.get("title") or extracted.title or version.file_name
    fixed = given.get("fixed", ())  # set by hand, replacing the file's own (editing.py)
    own_tags = () if "tags" in fixed else extracted.tags
    own_metadata = {} if "metadata" in fixed else extracted.metadata
    document.tags = list(dict.fromkeys([*given.get("tags", ()), *own_tags]))
    document.metadata = {**own_metadata, **given.get("metadata", {})}
    document.dated_at = effective_date(document)
    document.language = _language_of(document, extracted, language)
    document.live_version = version.number
    document.chunks_count = len(passages)
    document.tokens_count = sum(passage.tokens for passage in passages)
    document.embedding_model = profile.model_identity
    document.embedding_dim = profile.dimensions
    document.ingestion_version = profile.ingestion_version
    if document.document_version == version.number:
        document.status = Document.Status.READY
        document.error_code = document.error_message = ""
    document.updated_at = Now()


def _language_of(document: Document, extracted: Extracted, default: str) -> str:
    """Return the language from the metadata, else the namespace's, else the detected one.

    Regions are dropped: en-GB is en.
    """
    for declared in (document.metadata.get("language"), document.metadata.get("lang")):
        if isinstance(declared, str) and (code := _LANGUAGE_CODE.match(declared.strip().lower())):
            return code[1]
    return default or languages.detect(extracted.text)


def _add_warnings(version: DocumentVersion, warnings: Sequence[str]) -> None:
    if new := [warning for warning in warnings if warning not in version.warnings]:
        found = DocumentVersion.objects.filter(pk=version.pk)
        found.update(warnings=[*version.warnings, *new])


def _write_version(
    version: DocumentVersion, extracted: Extracted, state: str, chunking: Mapping[str, Any] | None
) -> None:
    DocumentVersion.objects.filter(pk=version.pk).update(
        state=state,
        text=extracted.text,
        outline=outline_of(extracted, chunking or {}),
        warnings=list(extracted.warnings),
        published_at=Now(),
    )


def outline_of(extracted: Extracted, chunking: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a version keeps of its file; `chunking` is what was requested."""
    headings = [
        {"level": block.level, "title": block.title, "start": block.start, "end": block.end}
        for block in extracted.blocks
        if block.kind == "heading"
    ]
    return {
        "headings": headings,
        "pages": [asdict(page) for page in extracted.pages],
        "turns": turns_of(extracted.blocks),
        "chunking": chunking,
        # Needed when the uploader's title, tags or metadata change (editing.py).
        "own": {
            "title": extracted.title,
            "tags": list(extracted.tags),
            "metadata": dict(extracted.metadata),
        },
    }
