"""Record events for the endpoints that subscribe to them, in the transaction in which they happen.

Nothing is sent here. An event that is rolled back is never sent, and one that is committed is not
lost.
"""

import json
import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from django.db import connection
from django.utils import timezone
from django_q.tasks import async_task

from documents.models import (
    Document,
    DocumentVersion,
    Namespace,
    WebhookDelivery,
    WebhookEvent,
)
from documents.models.webhooks import EventType
from documents.passages import CONVERSATION
from ragsite.database.tenancy import current_namespace

# Locked, so that deleting an endpoint at the same time does not fail the caller's transaction.
_WHO_WANTS = """
    SELECT id FROM documents_webhookendpoint
    WHERE namespace_id = %s AND status = 'enabled' AND (events = '{}' OR %s = ANY (events))
    ORDER BY id FOR KEY SHARE
"""


def emit(
    type_: EventType,
    describe: Callable[[], Mapping[str, Any]],
    *,
    document_id: uuid.UUID | None = None,
) -> None:
    """Record an event and its deliveries if an endpoint subscribes to it; `describe` is only called
    then. Inside namespace()."""
    namespace_id = _namespace()
    with connection.cursor() as cursor:
        cursor.execute(_WHO_WANTS, [namespace_id, str(type_)])
        endpoint_ids = [row[0] for row in cursor.fetchall()]
    if endpoint_ids:
        record(type_, describe(), endpoint_ids, document_id=document_id)


def record(
    type_: EventType,
    data: Mapping[str, Any],
    endpoint_ids: Sequence[uuid.UUID],
    *,
    document_id: uuid.UUID | None = None,
) -> list[WebhookDelivery]:
    """Record an event for these endpoints and wake a worker. Inside namespace()."""
    namespace_id = _namespace()
    slug = Namespace.objects.values_list("slug", flat=True).get(pk=namespace_id)
    message = {
        "type": str(type_),
        "timestamp": timezone.now().isoformat(),
        "data": {"namespace": slug, **data},
    }
    event = WebhookEvent.objects.create(
        namespace_id=namespace_id,
        type=type_,
        document_id=document_id,
        body=json.dumps(message, ensure_ascii=False),
    )
    deliveries = [
        WebhookDelivery(namespace_id=namespace_id, endpoint_id=endpoint_id, event=event)
        for endpoint_id in endpoint_ids
    ]
    WebhookDelivery.objects.bulk_create(deliveries)
    wake_workers()
    return deliveries


def _namespace() -> uuid.UUID:
    namespace_id = current_namespace()
    if namespace_id is None:
        raise RuntimeError("Events are recorded inside namespace().")
    return namespace_id


def wake_workers() -> None:
    """Have one worker send the due deliveries."""
    async_task("documents.tasks.deliver_webhooks", save=False)


def is_wanted(type_: EventType) -> bool:
    """Whether an endpoint wants such events: for callers with many of them. Inside namespace()."""
    with connection.cursor() as cursor:
        cursor.execute(_WHO_WANTS, [_namespace(), str(type_)])
        return cursor.fetchone() is not None


def document_ready(document: Document, version: DocumentVersion) -> None:
    """Record that a version is searchable, in the transaction that publishes it."""
    if document.source_type == CONVERSATION:
        return  # turns are indexed one by one within seconds, which is too often for events

    def describe() -> dict[str, Any]:
        return {
            **_described(document, version.number),
            "chunks_count": document.chunks_count,
            "tokens_count": document.tokens_count,
        }

    emit(EventType.DOCUMENT_READY, describe, document_id=document.pk)


def document_failed(version: DocumentVersion, *, code: str, message: str) -> None:
    """Record that a version cannot be indexed; an earlier one stays searchable."""

    def describe() -> dict[str, Any]:
        document = Document.objects.get(pk=version.document_id)
        error = {"code": code, "message": message}
        return {**_described(document, version.number), "error": error}

    emit(EventType.DOCUMENT_FAILED, describe, document_id=version.document_id)


def _described(document: Document, number: int) -> dict[str, Any]:
    return {
        "document_id": str(document.pk),
        "source_uri": document.source_uri,
        "title": document.title,
        "document_version": number,
    }
