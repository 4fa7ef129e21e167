"""Keep the stores in sync: claim some changed documents, and replace all of their chunks.

It can be killed at any point: a document stays in the outbox until the store has confirmed all of
its chunks.
"""

import logging
import time
import uuid
from collections import Counter
from collections.abc import Callable, Sequence

from django.conf import settings
from django_q.tasks import async_task

from documents.errors import IngestError
from documents.models import IndexProfile
from ragsite.database.tenancy import namespace, operator
from ragsite.platform import metrics

from . import marks, outbox, points, registry
from .outbox import ClaimLost, FeedClaim

logger = logging.getLogger(__name__)

SyncedCallback = Callable[[int], None]  # called with the number of documents synced so far
TASK_SECONDS = 20.0  # per task; then other work gets its turn


def wake_workers() -> None:
    """Wake a worker if a store is behind. Called every few seconds."""
    if settings.STORES and outbox.due(1):
        async_task("documents.tasks.feed_stores", save=False)


def wake_to_check() -> None:
    """Called twice a minute."""
    if settings.STORES:
        async_task("documents.tasks.check_stores", save=False)


def work(*, seconds: float = TASK_SECONDS) -> int:
    """Sync all stores for a while, fairly between namespaces; return how many documents."""
    until = time.monotonic() + seconds
    synced: Counter[uuid.UUID] = Counter()
    while time.monotonic() < until:
        claims = [claim for key in outbox.due() if (claim := outbox.claim(*key))]
        if not claims:
            break
        for claim in claims:
            synced[claim.profile_id] += _deliver(claim)
    for profile_id in +synced:
        _renew_mark(profile_id)
    return synced.total()


def check() -> None:
    """Find stores that have lost what they were given, and have them filled again. They are not
    trusted by searches meanwhile."""
    with operator():
        outside = [p for p in IndexProfile.objects.filter(store_mark__gt=0) if _is_here(p)]
    for profile in outside:
        try:
            marks.require(profile)
        except IngestError as error:  # it is down, which searches notice by themselves
            logger.warning("store.not_checked", extra={"code": error.code})


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
    if synced:
        _renew_mark(profile.pk)
    with namespace(namespace_id):
        return not outbox.pending(namespace_id, profile.pk, at_most=1)


def rebuild(namespace_id: uuid.UUID, profile: IndexProfile) -> None:
    """Remove a namespace from the store and queue it to be written again. Until that is done,
    searches use the tables."""
    with namespace(namespace_id):
        outbox.note(namespace_id, profile.pk)
    marks.require(profile)
    store, collection = registry.store_of(profile), registry.collection_of(profile)
    store.delete(collection, namespace_id, None)


def take_over(profile: IndexProfile) -> bool:
    """Begin a collection anew that another installation has fed; False if none has."""
    store = registry.store_of(profile)
    if not marks.is_foreign(store.mark(registry.collection_of(profile))):
        return False
    marks.begin_anew(profile, store)
    return True


def separate(namespace_id: uuid.UUID, profile: IndexProfile) -> None:
    """Give a large namespace a part of the store for itself, and have it filled again."""
    store, collection = registry.store_of(profile), registry.collection_of(profile)
    marks.require(profile)
    with namespace(namespace_id):
        outbox.note(namespace_id, profile.pk)
    store.separate(collection, namespace_id)


def rebuild_all() -> None:
    """Begin every collection anew, as far as its store answers and it is ours. The others are
    found by `check`, or named by `verify`."""
    with operator():
        outside = [profile for profile in IndexProfile.objects.all() if _is_here(profile)]
    for profile in outside:
        try:
            store = registry.store_of(profile)
            if marks.is_foreign(store.mark(registry.collection_of(profile))):
                continue
            marks.begin_anew(profile, store)
        except IngestError as error:
            logger.warning("store.not_emptied", extra={"code": error.code})


def forget(profile: IndexProfile) -> None:
    """Drop what the store holds of a profile that is being deleted. Raises StoreFailed."""
    if _is_here(profile):
        registry.store_of(profile).drop(registry.collection_of(profile))


def _is_here(profile: IndexProfile) -> bool:
    """Whether the profile uses a store that is configured."""
    return profile.is_stored_outside and profile.store in settings.STORES


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
    """Replace what the store holds of these documents by what the tables hold now. Old points are
    deleted last, so that a search never finds the documents missing."""
    with operator():
        profile = IndexProfile.objects.get(pk=claim.profile_id)
    marks.require(profile)
    store, collection = registry.store_of(profile), registry.collection_of(profile)
    sync, after = str(claim.token), None
    while page := _page(claim, after):
        store.upsert(collection, claim.namespace_id, page, sync=sync)
        after = page[-1].id
        claim.renew()
    store.delete(collection, claim.namespace_id, claim.documents, but_sync=sync)


def _renew_mark(profile_id: uuid.UUID) -> None:
    with operator():
        profile = IndexProfile.objects.filter(pk=profile_id).first()
    if profile is not None:
        try:
            marks.renew(profile)
        except IngestError as error:  # the next sync does it
            logger.info("store.not_marked", extra={"code": error.code})


def _page(claim: FeedClaim, after: uuid.UUID | None) -> Sequence[points.StoredPoint]:
    with namespace(claim.namespace_id):
        return points.page_of(claim.profile_id, claim.documents, after=after)
