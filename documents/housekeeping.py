"""What somebody has to do now and then: forget what nobody asks for, remove what nobody owns,
count what has changed."""

import logging
import uuid
from datetime import UTC, datetime, timedelta

from django.conf import settings
from django.core.files.storage import default_storage
from django.db import connection
from django.db.models.functions import Now

from ragsite.access import rate_counters
from ragsite.database.tenancy import namespace

from .accounts import audit, login_throttle, namespace_removal
from .ingestion import terms
from .intake import originals
from .jobs import heartbeat
from .models import DocumentVersion, EmbeddingCache, Namespace
from .profiles import deletion, vector_indexes
from .reindex import switching

logger = logging.getLogger(__name__)

# Days ago. The youngest are left alone: somebody may be about to record them.
SWEPT_DAYS = range(2, 10)


def tidy() -> None:
    heartbeat.delete_stale()
    rate_counters.forget_old_counts()
    audit.prune()
    login_throttle.delete_stale()
    namespace_removal.requeue_stalled()
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
        terms.count(namespace_id, tenant.active_profile)
        _sweep(namespace_id)
        switching.sweep(namespace_id)
    deletion.sweep()
    vector_indexes.sweep()


def _sweep(namespace_id: uuid.UUID) -> None:
    """Remove originals that were stored just before a crash, and so belong to no document."""
    today = datetime.now(UTC).date()
    for days in SWEPT_DAYS:
        keys = _stored(originals.folder_of(namespace_id, today - timedelta(days=days)))
        if not keys:
            continue
        with namespace(namespace_id):
            owned = DocumentVersion.objects.filter(storage_key__in=keys)
            orphans = keys - set(owned.values_list("storage_key", flat=True))
        for key in orphans:
            originals.remove(key)
        if orphans:
            logger.info("originals.swept", extra={"count": len(orphans)})


def _stored(folder: str) -> set[str]:
    try:
        _, names = default_storage.listdir(folder)
    except (NotImplementedError, FileNotFoundError):  # it cannot tell, or there is nothing
        return set()
    return {f"{folder}/{name}" for name in names}
