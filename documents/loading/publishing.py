"""Publish many new documents in one transaction: the rows of ingestion.publishing.publish."""

import json
import uuid
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from django.db import connection

from documents.accounts import quotas
from documents.ingestion import terms
from documents.ingestion.publishing import describe, lock_active_profile, outline_of
from documents.jobs import queue
from documents.models import Document, IndexProfile, Reindex
from documents.models.webhooks import EventType
from documents.profiles.chunking_overrides import requested_by
from documents.webhooks import events
from ragsite.database.tenancy import namespace

from .copying import IndexedDocument, insert_chunks

# Words are counted again when there are twice as many chunks, and at the end of the load; those
# that were never counted match without a weight.
STALE_SHARE = 1.0

_RELEASE = """
    UPDATE documents_ingestjob job
    SET state = 'succeeded', stage = 'done', lease_token = NULL, lease_until = NULL,
        finished_at = now(), passages_done = done.passages, passages_total = done.passages,
        times_ms = %(times)s::jsonb, error_code = '', error_message = ''
    FROM unnest(%(documents)s::uuid[], %(passages)s::int[]) AS done (document, passages)
    WHERE job.document_id = done.document AND job.lease_token = %(token)s AND job.state = 'running'
    RETURNING job.document_id
"""
_DESCRIBE = """
    UPDATE documents_document document
    SET title = new.title, tags = new.tags, metadata = new.metadata, dated_at = new.dated_at,
        language = new.language, live_version = new.live_version, status = new.status,
        chunks_count = new.chunks_count, tokens_count = new.tokens_count,
        embedding_model = new.embedding_model, embedding_dim = new.embedding_dim,
        ingestion_version = new.ingestion_version,
        error_code = '', error_message = '', updated_at = now()
    FROM jsonb_to_recordset(%s::jsonb) AS new (
        id uuid, title text, tags text[], metadata jsonb, dated_at timestamptz, language text,
        live_version int, status text, chunks_count int, tokens_count int,
        embedding_model text, embedding_dim int, ingestion_version int
    )
    WHERE document.id = new.id
"""
_DESCRIBED = (
    *("title", "tags", "metadata", "language", "live_version", "status", "chunks_count"),
    *("tokens_count", "embedding_model", "embedding_dim", "ingestion_version"),
)
_VERSIONS = """
    UPDATE documents_documentversion version
    SET state = 'live', text = new.text, outline = new.outline, warnings = new.warnings,
        published_at = now()
    FROM unnest(%s::uuid[], %s::text[], %s::jsonb[], %s::jsonb[])
         AS new (id, text, outline, warnings)
    WHERE version.id = new.id
"""


class NotPublished(Exception):
    """The namespace switched profiles meanwhile: index each by itself."""


def publish(
    namespace_id: uuid.UUID,
    profile: IndexProfile,
    indexed: Sequence[IndexedDocument],
    *,
    token: uuid.UUID,
    times_ms: Mapping[str, float],
) -> tuple[set[uuid.UUID], bool]:
    """Publish documents under the active profile. Return those that were published, and whether to
    recount the namespace's words.

    Left out is what was cancelled, deleted, changed or replaced meanwhile. Nothing is written if
    this raises: NotPublished, or QuotaExceeded if there would be too many chunks.
    """
    with namespace(namespace_id):
        ids = sorted(one.document.pk for one in indexed)
        rows = Document.objects.filter(pk__in=ids).order_by("pk").select_for_update()
        documents = {row.pk: row for row in rows}
        active = lock_active_profile(namespace_id)
        if active.profile_id != profile.pk:
            raise NotPublished
        # The rows as they are now: tags or a title may have been set since they were taken.
        current = [
            one._replace(document=documents[one.document.pk])
            for one in indexed
            if one.document.pk in documents and _is_same(documents[one.document.pk], one.document)
        ]
        held = _release(current, token, times_ms)
        current = [one for one in current if one.document.pk in held]
        for document, version, extracted, passages, _ in current:
            describe(document, version, profile, extracted, passages, active.language)
        insert_chunks(profile, current)
        _write(current)
        if Reindex.objects.filter(state__in=Reindex.OPEN).update(has_work=True):
            queue.wake_workers()
        if events.is_wanted(EventType.DOCUMENT_READY):
            for one in current:
                events.document_ready(one.document, one.version)
        # Last, because it locks the namespace's row against other publishers.
        chunks = sum(len(one.passages) for one in current)
        languages: Collection[str] = {one.document.language for one in current}
        is_stale = bool(current) and terms.record_growth(
            namespace_id, profile, chunks=chunks, languages=languages, stale_share=STALE_SHARE
        )
        quotas.require_not_exceeded(namespace_id, chunks=chunks)
        return held, is_stale


def _is_same(now: Document, taken: Document) -> bool:
    """Whether it is still the first version, with the chunking that it was split by."""
    first = now.live_version is None and now.document_version == taken.document_version
    return first and requested_by(now) == requested_by(taken)


def _release(
    indexed: Sequence[IndexedDocument], token: uuid.UUID, times_ms: Mapping[str, float]
) -> set[uuid.UUID]:
    """End the jobs; return the documents of those whose lease is still ours."""
    with connection.cursor() as cursor:
        cursor.execute(
            _RELEASE,
            {
                "documents": [one.document.pk for one in indexed],
                "passages": [len(one.passages) for one in indexed],
                "times": json.dumps(dict(times_ms)),
                "token": token,
            },
        )
        return {document_id for (document_id,) in cursor.fetchall()}


def _write(indexed: Sequence[IndexedDocument]) -> None:
    described = [_described(one.document) for one in indexed]
    outlines = [outline_of(one.extracted, requested_by(one.document)) for one in indexed]
    with connection.cursor() as cursor:
        cursor.execute(_DESCRIBE, [json.dumps(described)])
        cursor.execute(
            _VERSIONS,
            [
                [one.version.pk for one in indexed],
                [one.extracted.text for one in indexed],
                [json.dumps(outline) for outline in outlines],
                [json.dumps(list(one.extracted.warnings)) for one in indexed],
            ],
        )


def _described(document: Document) -> dict[str, Any]:
    values: dict[str, Any] = {name: getattr(document, name) for name in _DESCRIBED}
    return values | {"id": str(document.pk), "dated_at": document.dated_at.isoformat()}
