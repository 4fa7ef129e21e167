"""The store of a profile, from the setting STORES, and a breaker that pauses failing stores."""

from functools import cache
from typing import cast

from django.conf import settings

from documents.models import IndexProfile
from documents.models.indexing import PGVECTOR
from ragsite.platform.backends import load_backend
from ragsite.platform.breaker import Breaker

from .base import SearchStore, StoreCollection, StoreMisfit, option_errors

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


@cache
def breaker(alias: str) -> Breaker:
    return Breaker(failures=FAILURES, pause=PAUSE_SECONDS)
