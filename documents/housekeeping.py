"""Hourly chores: delete what has expired, remove files without a document, recount words."""

import logging
import uuid
from datetime import UTC, datetime, timedelta

from django.conf import settings
from django.core.files.storage import default_storage
from django.db import connection
from django.db.models.functions import Now

from ragsite.access import rate_counters
from ragsite.database.tenancy import namespace
from ragsite.platform import metrics, temporary_files

from .accounts import audit, login_throttle, namespace_removal
from .errors import IngestError
from .ingestion import terms
from .intake import idempotency, originals, unowned
from .jobs import heartbeat
from .memory import vectors as fact_vectors
from .models import DocumentVersion, EmbeddingCache, IndexProfile, Namespace
from .profiles import deletion, vector_indexes
from .reindex import switching
from .webhooks import delivering

logger = logging.getLogger(__name__)

# Age of originals in days. Younger ones may be about to be recorded.
SWEPT_DAYS = range(2, 10)


def tidy() -> None:
    """Do all chores, for every namespace."""
    metrics.merge_ended()
    heartbeat.delete_stale()
    rate_counters.delete_old_counts()
    audit.prune()
    login_throttle.delete_stale()
    namespace_removal.requeue_stalled()
    if removed := temporary_files.remove_left_behind():
        logger.info("uploads.swept", extra={"count": removed})
    _remove_due_originals()
    kept_until = unowned.kept_until()
    too_old = Now() - timedelta(days=settings.EMBEDDING_CACHE_DAYS)
    with connection.cursor() as cursor:
        cursor.execute("SELECT namespace_id FROM ragsite.namespace_ids()")
        tenants = [row[0] for row in cursor.fetchall()]
    for namespace_id in tenants:
        with namespace(namespace_id):
            EmbeddingCache.objects.filter(created_at__lt=too_old).delete()
            namespaces = Namespace.objects.select_related("active_profile")
            tenant = namespaces.filter(pk=namespace_id, deleting_since=None).first()
        if tenant is None:  # deleted, or about to be
            continue
        idempotency.delete_expired(namespace_id)
        delivering.prune(namespace_id)
        terms.count(namespace_id, tenant.active_profile)
        _embed_facts(namespace_id, tenant.active_profile)
        _remove_orphaned_originals(namespace_id, kept_until)
        switching.sweep(namespace_id)
    deletion.sweep()
    vector_indexes.sweep()


def _embed_facts(namespace_id: uuid.UUID, profile: IndexProfile) -> None:
    """Embed facts that were stated while the model did not respond."""
    try:
        fact_vectors.fill(namespace_id, profile)
    except IngestError as error:  # next time
        logger.warning("memory.not_embedded", extra={"code": error.code})


def _remove_due_originals() -> None:
    try:
        originals.remove_due()
    except IngestError as error:  # next time
        logger.warning("originals.not_removed", extra={"code": error.code})


def _remove_orphaned_originals(namespace_id: uuid.UUID, kept_until: datetime | None) -> None:
    """Remove originals that belong to no document because a crash came before the commit."""
    today = datetime.now(UTC).date()
    for days in SWEPT_DAYS:
        keys = _stored(originals.folder_of(namespace_id, today - timedelta(days=days)))
        if not keys:
            continue
        with namespace(namespace_id):
            owned = DocumentVersion.objects.filter(storage_key__in=keys)
            unowned_keys = keys - set(owned.values_list("storage_key", flat=True))
        orphans = [key for key in unowned_keys if not unowned.is_kept(key, kept_until)]
        for key in orphans:
            originals.remove(key)
        if orphans:
            logger.info("originals.swept", extra={"count": len(orphans)})


def _stored(folder: str) -> set[str]:
    try:
        _, names = default_storage.listdir(folder)
    except (NotImplementedError, FileNotFoundError):  # it cannot list, or has no such folder
        return set()
    except OSError as error:
        logger.warning("originals.not_listed", extra={"folder": folder, "error": str(error)})
        return set()
    return {f"{folder}/{name}" for name in names}
