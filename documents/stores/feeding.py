"""Keep the stores in sync: claim some changed documents, and replace all of their chunks.

It can be killed at any point: a document stays in the outbox until the store has confirmed all of
its chunks.
"""

import logging
import time
import uuid
from collections.abc import Callable, Iterable, Sequence

from django.conf import settings
from django_q.tasks import async_task

from documents.errors import IngestError
from documents.models import IndexProfile
from ragsite.database.tenancy import namespace, operator
from ragsite.platform import metrics

from . import outbox, points, registry
from .outbox import ClaimLost, FeedClaim

logger = logging.getLogger(__name__)

SyncedCallback = Callable[[int], None]  # called with the number of documents synced so far
TASK_SECONDS = 20.0  # per task; then other work gets its turn


def wake_workers() -> None:
    """Wake a worker if a store is behind. Called every few seconds."""
    if settings.STORES and outbox.due(1):
        async_task("documents.tasks.feed_stores", save=False)


def work(*, seconds: float = TASK_SECONDS) -> int:
    """Sync all stores for a while, fairly between namespaces; return how many documents."""
    until = time.monotonic() + seconds
    synced = 0
    while time.monotonic() < until:
        claims = [claim for key in outbox.due() if (claim := outbox.claim(*key))]
        if not claims:
            break
        synced += sum(_deliver(claim) for claim in claims)
    return synced


def catch_up(
    namespace_id: uuid.UUID,
    profile: IndexProfile,
    *,
    progress: SyncedCallback = lambda synced: None,
    until: float | None = None,
) -> bool:
    """Sync one profile's store with a namespace; False if something is left for later. Raises
    IngestError if the store fails."""
    synced = 0
    while claim := outbox.claim(namespace_id, profile.pk):
        synced += _deliver(claim, raises=True)
        progress(synced)
        if until is not None and time.monotonic() > until:
            break
    with namespace(namespace_id):
        return not outbox.pending(namespace_id, profile.pk, at_most=1)


def rebuild(namespace_id: uuid.UUID, profile: IndexProfile) -> None:
    """Remove a namespace from the store and queue it to be written again. Until that is done,
    searches use the tables."""
    with namespace(namespace_id):
        outbox.note(namespace_id, profile.pk)
    store, collection = registry.store_of(profile), registry.collection_of(profile)
    store.prepare(collection)
    store.delete(collection, namespace_id, None)


def rebuild_all(namespaces: Iterable[uuid.UUID]) -> None:
    """Rebuild every store for these namespaces, except stores that do not respond."""
    with operator():
        outside = [p for p in IndexProfile.objects.all() if p.is_stored_outside]
    for namespace_id in namespaces:
        for profile in outside:
            try:
                rebuild(namespace_id, profile)
            except IngestError as error:  # it is filled later, and verify finds missing chunks
                logger.warning("store.not_emptied", extra={"code": error.code})


def forget(profile: IndexProfile) -> None:
    """Delete the store's chunks of a profile that is being deleted. Raises StoreFailed."""
    if profile.is_stored_outside and profile.store in settings.STORES:
        registry.store_of(profile).drop(registry.collection_of(profile))


def _deliver(claim: FeedClaim, *, raises: bool = False) -> int:
    """Sync the claimed documents; return how many."""
    try:
        _sync(claim)
        claim.done()
    except ClaimLost:
        # The other worker may have been faster, in which case this one has restored an older state.
        with namespace(claim.namespace_id):
            outbox.note(claim.namespace_id, claim.profile_id, claim.documents)
        logger.info("store.claim_lost", extra={"profile_id": str(claim.profile_id)})
        return 0
    except Exception as error:
        known = isinstance(error, IngestError)
        code = error.code if isinstance(error, IngestError) else "internal_error"
        claim.postpone(code, str(error) if known else type(error).__name__)
        metrics.STORE_FAILURES.labels(code).inc()
        logger.warning("store.not_synced", extra={"code": code}, exc_info=not known)
        if raises:
            raise
        return 0
    metrics.STORE_DOCUMENTS.inc(len(claim.documents))
    return len(claim.documents)


def _sync(claim: FeedClaim) -> None:
    """Replace the documents' chunks in the store by those in the tables."""
    with operator():
        profile = IndexProfile.objects.get(pk=claim.profile_id)
    store, collection = registry.store_of(profile), registry.collection_of(profile)
    store.prepare(collection)
    store.delete(collection, claim.namespace_id, claim.documents)
    after: uuid.UUID | None = None
    while page := _page(claim, after):
        store.upsert(collection, claim.namespace_id, page)
        after = page[-1].id
        claim.renew()


def _page(claim: FeedClaim, after: uuid.UUID | None) -> Sequence[points.StoredPoint]:
    with namespace(claim.namespace_id):
        return points.page_of(claim.profile_id, claim.documents, after=after)
