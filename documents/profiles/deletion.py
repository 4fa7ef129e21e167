"""Delete profiles that are not in use: first the vector index, then the row."""

from contextlib import suppress

from documents.accounts import audit
from documents.errors import IngestError
from documents.models import IndexProfile, Namespace
from documents.models.indexing import DEFAULT_PROFILE_ID
from documents.stores import feeding
from documents.stores.base import StoreFailed

from . import vector_indexes


class ProfileInUse(IngestError):
    code = "profile_in_use"


def retire(profile: IndexProfile) -> None:
    """Delete a profile and its chunks in a store.

    Raises ProfileInUse while a namespace, a reindex or a chunk needs it, and StoreFailed while the
    store does not respond.
    """
    if profile.pk == DEFAULT_PROFILE_ID:
        raise ProfileInUse("The default profile stays: new namespaces begin with it.")
    if vector_indexes.is_in_use(profile):
        raise ProfileInUse(
            f"The profile {profile.name!r} is in use: by a namespace, by a reindex, or by chunks "
            "that have not been reclaimed."
        )
    feeding.forget(profile)
    vector_indexes.drop_if_unused(profile)
    IndexProfile.objects.using("owner").filter(pk=profile.pk).delete()
    audit.record("profile.delete", namespace=profile.namespace_id, target=profile)


def sweep() -> None:
    """Delete the profiles of deleted namespaces, once they are no longer in use."""
    living = Namespace.objects.using("owner").values("pk")
    owned = IndexProfile.objects.using("owner").exclude(namespace=None)
    for profile in list(owned.exclude(namespace__in=living)):
        with suppress(ProfileInUse, StoreFailed):  # the next sweep tries again
            retire(profile)
