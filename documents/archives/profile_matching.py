"""Find or create the index profile under which the archive's passages can be searched."""

import uuid
from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError

from documents.accounts import audit
from documents.errors import IngestError
from documents.models import IndexProfile
from documents.profiles import profiles
from ragsite.database.tenancy import operator

from .errors import ArchiveRefused

# The fields that determine passages and vectors. The embedder's alias is specific to a server.
_SAME = (
    "chunker",
    "chunker_options",
    "chunk_size",
    "chunk_overlap",
    "contextual_header",
    "dimensions",
    "ingestion_version",
)
_TAKEN_OVER = (*_SAME, "model_identity", "ann_method", "ann_options")


def find_or_create(described: dict[str, Any], *, namespace_id: uuid.UUID) -> IndexProfile:
    """Return a profile whose vectors are of the same kind. Raises ArchiveRefused if no embedder of
    this server has made the archive's vectors."""
    try:
        wanted = {name: described[name] for name in _TAKEN_OVER}
        name, alias, key = described["name"], described["embedder"], uuid.UUID(described["id"])
    except (KeyError, TypeError, ValueError, AttributeError):
        raise ArchiveRefused("The archive's index profile cannot be read.") from None
    identity = str(wanted["model_identity"])  # blank if it has not embedded anything yet
    alias = _embedder(identity, str(alias))
    same = {field: wanted[field] for field in _SAME}
    with operator():
        shared = IndexProfile.objects.filter(namespace=None, embedder=alias)
        for profile in shared.order_by("created_at"):
            if not all(getattr(profile, field) == value for field, value in same.items()):
                continue
            if identity and not profile.model_identity and profile.name == name:
                profiles.embedder_of(profile)  # records its model
            if identity in ("", profile.model_identity):
                return profile
    return _create(str(name), alias, key, wanted, namespace_id)


def create_own(described: dict[str, Any], *, namespace_id: uuid.UUID) -> str | None:
    """Create another profile of the namespace; return None, or the reason why that is not
    possible."""
    try:
        find_or_create(described, namespace_id=namespace_id)
    except ArchiveRefused as error:
        return str(error)
    return None


def _embedder(identity: str, alias: str) -> str:
    """Return the alias of the embedder with this identity, preferring the archive's alias."""
    aliases = [alias] if alias in settings.EMBEDDERS else []
    aliases += [other for other in settings.EMBEDDERS if other != alias]
    for found in aliases:
        try:
            if not identity or profiles.load_embedder(found).identity == identity:
                return found
        except IngestError:  # it cannot be loaded here
            continue
    raise ArchiveRefused(
        f"The archive's vectors were made by {identity}, and no embedder of this server is that "
        "one. Configure it (docs/embedding.md), then import again."
    )


def _create(
    name: str, alias: str, key: uuid.UUID, wanted: dict[str, Any], namespace_id: uuid.UUID
) -> IndexProfile:
    """Create a profile for the namespace, which does not exist yet. If the import fails, the
    profile is deleted like those of deleted namespaces."""
    profile = IndexProfile(name=name, namespace_id=namespace_id, embedder=alias, **wanted)
    try:
        profiles.require_fitting(profile, profiles.load_embedder(alias))
        with operator():
            if not IndexProfile.objects.filter(pk=key).exists():
                profile.pk = key  # ids of chunks are derived from it
            profile.full_clean(exclude={"namespace"})
            profile.save(force_insert=True)
            audit.record("profile.create", namespace=namespace_id, target=profile)
        return profile
    except ValidationError as error:
        raise ArchiveRefused(f"The index profile: {' '.join(error.messages)}") from None
    except (IngestError, TypeError) as error:
        raise ArchiveRefused(f"The index profile: {error}") from None
