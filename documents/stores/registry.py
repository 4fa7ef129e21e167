"""The store of a profile, from the setting STORES, and a breaker that pauses failing stores."""

import logging
from functools import cache
from typing import cast

from django.conf import settings

from documents.models import IndexProfile
from documents.models.indexing import PGVECTOR
from ragsite.database.tenancy import operator
from ragsite.platform.backends import load_backend
from ragsite.platform.breaker import Breaker
from ragsite.platform.wording import plural

from .base import SearchStore, StoreCollection, StoreMisfit, option_errors

logger = logging.getLogger(__name__)

# after this many failures in a row searches do not use the store for a while
FAILURES, PAUSE_SECONDS = 2, 10.0


def names() -> list[str]:
    """Return the stores that are configured here."""
    return [PGVECTOR, *sorted(settings.STORES)]


def store_of(profile: IndexProfile) -> SearchStore:
    """Return the profile's store. Raises StoreMisfit if it is not configured or its package is
    missing."""
    return load(profile.store)


def load(alias: str) -> SearchStore:
    if alias not in settings.STORES:
        known = ", ".join(names())
        raise StoreMisfit(f"There is no store {alias!r} here; there are {known}.")
    return cast(SearchStore, load_backend("STORES", alias))


def warm() -> None:
    """Import the clients of all stores and connect, so that no search waits for that."""
    for alias in settings.STORES:
        try:
            health = load(alias).health()
        except StoreMisfit as error:
            logger.warning("store.misfit", extra={"error": str(error)})
        else:
            problem = health.problem or health.advice
            if problem:
                logger.warning("store.problem", extra={"store": alias, "error": problem})


def collection_of(profile: IndexProfile) -> StoreCollection:
    name = f"{settings.STORE_SEARCH['prefix']}{profile.pk.hex}"
    return StoreCollection(name, profile.dimensions, profile.store_options)


def require_usable(profile: IndexProfile) -> None:
    """Raise StoreMisfit if the profile's store is not configured or refuses its options."""
    if not profile.is_stored_outside:
        if profile.store_options:
            raise StoreMisfit("pgvector has no store options: see ann_options.")
        return
    if sentence := option_errors(store_of(profile), profile.store_options):
        raise StoreMisfit(f"store_options: {sentence}")


def missing() -> list[str]:
    """Return a sentence for each store that profiles name and that is not configured."""
    with operator():
        profiles = IndexProfile.objects.exclude(store__in=names()).order_by("store", "name")
        by_store: dict[str, list[str]] = {}
        for profile in profiles:
            by_store.setdefault(profile.store, []).append(profile.name)
    return [
        f"The search store {store!r} is not configured, and is named by {_quoted(named)}. Searches "
        "there use PostgreSQL. Set the store's address (docs/stores.md), or reindex to a profile "
        "with another store."
        for store, named in by_store.items()
    ]


def _quoted(named: list[str]) -> str:
    shown = ", ".join(repr(name) for name in named[:5])
    return f"{plural(len(named), 'index profile')} ({shown}{', …' if len(named) > 5 else ''})"


@cache
def breaker(alias: str) -> Breaker:
    return Breaker(failures=FAILURES, pause=PAUSE_SECONDS)
