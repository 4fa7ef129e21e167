"""Whether a store still holds what it was given.

A store keeps a mark beside the points: the installation's name and a number, which is in the
profile's row as well and grows whenever something was written. A store that has lost its disk has
no mark, one that came back with an older copy of it has an older one, and one that a copy of this
database feeds has that installation's. Searches compare it, so that they never miss what such a
store has lost, and workers begin it anew.
"""

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache

from django.db import connections, transaction

from documents.models import Chunk, IndexProfile
from ragsite.database.tenancy import namespace, operator

from . import outbox, registry
from .base import SearchStore, StoreFailed, StoreMisfit

logger = logging.getLogger(__name__)

# A store is ahead of the row until that is written down. Beginning anew leaps further.
AHEAD = 5
LEAP = 10
SECOND_LOOK_SECONDS = 1.0
AT_IT = "Another worker is preparing the collection."


def is_current(profile: IndexProfile, mark: str) -> bool:
    """Whether a store with this mark holds all that it has confirmed."""
    if not profile.store_mark and not mark:
        return True  # filled before there were marks
    installed, number = _parts(mark)
    ahead = number - profile.store_mark
    return installed == installation() and 0 <= ahead <= AHEAD


def require(profile: IndexProfile) -> None:
    """Have a collection that holds what it has confirmed. If there is none, or it is older, begin
    anew: all that it should hold is queued.

    Raises StoreMisfit if it belongs to another installation, and StoreFailed.
    """
    store = registry.store_of(profile)
    held = _mark_of(profile, store)
    if held == "" and not profile.store_mark:
        store.prepare(registry.collection_of(profile))
        _write(profile, store, 1)
    elif not _is_whole(profile, held):
        if profile.store_mark:  # a node that is just joining its cluster may not know yet
            time.sleep(SECOND_LOOK_SECONDS)
            if _is_whole(profile, _mark_of(profile, store)):
                return
        begin_anew(profile, store)


def holds_all(profile: IndexProfile) -> bool:
    """Whether the store holds what it has confirmed. Raises StoreMisfit and StoreFailed."""
    return _is_whole(profile, _mark_of(profile, registry.store_of(profile)))


def _mark_of(profile: IndexProfile, store: SearchStore) -> str | None:
    """Return the collection's mark. The profile's number is read before it, because it grows
    after it."""
    with operator():
        profile.refresh_from_db(fields=["store_mark"])
    collection = registry.collection_of(profile)
    held = store.mark(collection)
    if is_foreign(held):
        raise StoreMisfit(
            f"The collection {collection.name!r} is fed by another installation, such as the one "
            "that this database is a copy of. Set another STORE_PREFIX here; or, if the other is "
            "gone, take it over: manage.py sync_store --rebuild."
        )
    return held


def _is_whole(profile: IndexProfile, held: str | None) -> bool:
    return held is not None and is_current(profile, held)


def begin_anew(profile: IndexProfile, store: SearchStore) -> None:
    """Empty the collection and queue all that it should hold. Searches use the tables meanwhile.

    Raises StoreFailed if another worker is at it.
    """
    with _only_worker(profile) as row:
        if row.store_mark != profile.store_mark:
            raise StoreFailed(AT_IT)
        if row.store_mark:
            logger.warning("store.begun_anew", extra={"profile_id": str(row.pk)})
        # From here on searches trust nothing that it holds. The time is in it, so that a database
        # that was set back does not come to numbers that it had before.
        row.store_mark = max(row.store_mark + LEAP, int(time.time()))
        row.save(update_fields=["store_mark"])
        number = row.store_mark
        chunks = Chunk.objects.filter(profile=profile).order_by()
        tenants = list(chunks.values_list("namespace_id", flat=True).distinct())
    for tenant in tenants:
        with namespace(tenant):
            outbox.note(tenant, profile.pk)
    collection = registry.collection_of(profile)
    with _only_worker(profile) as row:
        if row.store_mark != number:
            raise StoreFailed(AT_IT)
        store.drop(collection)
        store.prepare(collection)
        store.set_mark(collection, _mark(number))


def renew(profile: IndexProfile) -> None:
    """Something was written: from now on an older copy of the store is known by its mark."""
    store, collection = registry.store_of(profile), registry.collection_of(profile)
    with suppress(StoreFailed), _only_worker(profile) as row:  # the other one renews it
        if is_current(row, store.mark(collection) or ""):
            _write(row, store, row.store_mark + 1)


@contextmanager
def _only_worker(profile: IndexProfile) -> Iterator[IndexProfile]:
    """A transaction that locks the profile's row against other workers, so that marks reach the
    store in their order. Raises StoreFailed if one of them has it."""
    with operator(), transaction.atomic(using="operator"):
        rows = IndexProfile.objects.select_for_update(no_key=True, skip_locked=True)
        row = rows.filter(pk=profile.pk).first()
        if row is None:
            raise StoreFailed(AT_IT)
        yield row


def _write(profile: IndexProfile, store: SearchStore, number: int) -> None:
    store.set_mark(registry.collection_of(profile), _mark(number))
    with operator():
        IndexProfile.objects.filter(pk=profile.pk).update(store_mark=number)


@cache
def installation() -> str:
    """The name of this database, which a physical replica shares and a restored copy does not."""
    with operator(), connections["operator"].cursor() as cursor:
        cursor.execute(
            "SELECT to_hex(system_identifier) || '/' || current_database() FROM pg_control_system()"
        )
        return str(cursor.fetchone()[0])


def _mark(number: int) -> str:
    return f"{installation()}:{number}"


def is_foreign(mark: str | None) -> bool:
    """Whether another installation has written this."""
    return bool(mark) and _parts(mark or "")[0] != installation()


def _parts(mark: str) -> tuple[str, int]:
    installed, _, number = mark.rpartition(":")
    return installed, int(number) if number.isdigit() else -1
