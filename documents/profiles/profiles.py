"""Create and find index profiles; the embedder and splitter of each."""

import uuid
from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.db.models import Q

from documents.accounts import audit
from documents.chunking.base import Splitter
from documents.chunking.llm import FindTopics
from documents.chunking.methods import DEFAULT_SIZES, ChunkerSettings, splitter_for
from documents.embedders import Embedder
from documents.embedders.remote import NoRateLimit, RemoteEmbedder
from documents.errors import EmbeddingFailed, IngestError
from documents.metering.rate_limit import SharedRateLimiter
from documents.models import IndexProfile
from documents.stores import registry
from ragsite.database.tenancy import namespace, operator
from ragsite.platform.backends import load_backend

from .vector_indexes import require_method

# Fields that `create(like=…)` does not copy.
NOT_COPIED = {"id", "name", "namespace", "ingestion_version"}


class ProfileMismatch(IngestError):
    """The configured embedder is not the one that created this profile's vectors."""

    code = "profile_mismatch"


class UnknownProfile(IngestError):
    code = "unknown_profile"


def create(
    name: str,
    *,
    namespace_id: uuid.UUID | None = None,
    like: IndexProfile | None = None,
    **fields: Any,
) -> IndexProfile:
    """Create a profile, for one namespace or shared by all.

    Fields that are not given are copied from `like` or derived from the others. The vector index
    is built when the first namespace needs it. Raises ValidationError for invalid settings and
    IngestError for an embedder or index method that is not available.
    """
    fields = {key: value for key, value in fields.items() if value is not None}
    if like is not None:
        fields = {**_copied(like, fields), **fields}
    size, overlap = DEFAULT_SIZES.get(fields.get("chunker", "structure"), (1, 0))
    embedder = load_embedder(fields.get("embedder", "default"))
    defaults = {
        "embedder": "default",
        "dimensions": embedder.dimensions,
        "chunk_size": size,
        "chunk_overlap": fields.get("chunk_size", size) * overlap // size,
        "contextual_header": True,
    }
    profile = IndexProfile(name=name, namespace_id=namespace_id, **{**defaults, **fields})
    with operator():
        require_free_name(profile)
        profile.full_clean()
        require_fitting(profile, embedder)
        try:
            with transaction.atomic(using="operator"):
                profile.save(force_insert=True)
                audit.record("profile.create", namespace=namespace_id, target=profile)
        except IntegrityError:  # another request was faster
            raise _name_taken() from None
    return profile


def _copied(like: IndexProfile, changes: dict[str, Any]) -> dict[str, Any]:
    """Return the profile's fields that are still valid with the changes."""
    copied = {
        field.name: getattr(like, field.name)
        for field in IndexProfile._meta.concrete_fields
        if field.editable and field.name not in NOT_COPIED
    }
    dependents = {
        "chunker": ("chunk_size", "chunk_overlap", "chunker_options"),
        "embedder": ("dimensions",),
        "ann_method": ("ann_options",),
        "store": ("store_options",),
    }
    for changed, dependent in dependents.items():
        if changes.get(changed, copied[changed]) != copied[changed]:
            copied = {key: value for key, value in copied.items() if key not in dependent}
    if "chunk_size" in changes and "chunk_size" in copied:
        ratio = copied["chunk_overlap"] / copied["chunk_size"]
        copied["chunk_overlap"] = int(changes["chunk_size"] * ratio)
    return copied


def assign(profile: IndexProfile, *, namespace_id: uuid.UUID | None) -> None:
    """Make the profile private to a namespace, or shared; namespaces that use it still see it.

    Raises ValidationError if the name is taken.
    """
    profile.namespace_id = namespace_id
    with operator():
        require_free_name(profile)
        with transaction.atomic(using="operator"):
            profile.save(update_fields=["namespace"])
            audit.record("profile.assign", namespace=namespace_id, target=profile)


def require_free_name(profile: IndexProfile) -> None:
    """Raise ValidationError if the name is taken. Inside operator().

    Checks only profiles that the owner can see, so that it does not reveal other tenants' names.
    """
    visible = Q(namespace=None)
    if profile.namespace_id is not None:
        visible |= Q(namespace=profile.namespace_id)
    others = IndexProfile.objects.exclude(pk=profile.pk)
    if others.filter(visible, name=profile.name).exists():
        raise _name_taken()


def _name_taken() -> ValidationError:
    return ValidationError({"name": "There is an index profile of this name."})


def visible_to(namespace_id: uuid.UUID) -> list[IndexProfile]:
    """Return the namespace's own profiles, the shared ones, and those it uses or has used."""
    with namespace(namespace_id):
        return list(IndexProfile.objects.all())  # row-level security filters them


def find_for_tenant(name: str, *, namespace_id: uuid.UUID) -> IndexProfile | None:
    """Find a profile by name: the tenant's own first, then shared, then others it can see."""
    found = [profile for profile in visible_to(namespace_id) if profile.name == name]
    return min(found, key=lambda one: _distance(one, namespace_id), default=None)


def find_for_operator(name: str, *, near: uuid.UUID | None = None) -> IndexProfile:
    """Find a profile by NAME or NAMESPACE/NAME. Raises UnknownProfile.

    A bare name means that of the namespace `near`, else a shared one, else the only one.
    """
    slug, _, own_name = name.rpartition("/")
    with operator():
        found = list(IndexProfile.objects.filter(name=own_name).select_related("namespace"))
    if slug:
        found = [one for one in found if one.namespace is not None and one.namespace.slug == slug]
    found.sort(key=lambda one: _distance(one, near))
    if not found:
        raise UnknownProfile(f"There is no index profile {name!r}; see manage.py profile list.")
    if len(found) > 1 and _distance(found[0], near) == _distance(found[1], near):
        raise UnknownProfile(
            f"Several namespaces have an index profile {name!r}: name it as NAMESPACE/{name}."
        )
    return found[0]


def _distance(profile: IndexProfile, namespace_id: uuid.UUID | None) -> int:
    if profile.namespace_id is None:
        return 1
    return 0 if profile.namespace_id == namespace_id else 2


def require_fitting(profile: IndexProfile, embedder: Embedder) -> None:
    """Check that the embedder fits the profile and that the server has its index method.

    Raises ProfileMismatch, MethodUnavailable.
    """
    if profile.chunker == "llm" and not settings.CHUNKING["model"]:
        raise ProfileMismatch("The llm chunker needs a language model: set CHUNKING_MODEL.")
    if embedder.dimensions != profile.dimensions:
        raise ProfileMismatch(
            f"The embedder {profile.embedder!r} gives vectors of {embedder.dimensions} dimensions, "
            f"not {profile.dimensions}."
        )
    splitter_of(profile, embedder)
    require_method(profile.ann_method)
    registry.require_usable(profile)


def embedder_of(profile: IndexProfile) -> Embedder:
    """Return the profile's embedder. Raises ProfileMismatch if it is not the one that made its
    vectors."""
    embedder = load_embedder(profile.embedder)
    if embedder.dimensions != profile.dimensions:
        raise ProfileMismatch(
            f"The embedder {profile.embedder!r} gives vectors of {embedder.dimensions} dimensions, "
            f"but the index profile {profile.name!r} has {profile.dimensions}."
        )
    if not profile.model_identity:
        _pin(profile, embedder)
    if profile.model_identity != embedder.identity:
        raise ProfileMismatch(
            f"The index profile {profile.name!r} was built with {profile.model_identity}, and the "
            f"embedder {profile.embedder!r} is now {embedder.identity}."
        )
    return embedder


def chunker_settings(profile: IndexProfile) -> ChunkerSettings:
    return ChunkerSettings(
        profile.chunker, profile.chunk_size, profile.chunk_overlap, profile.chunker_options
    )


def splitter_of(
    profile: IndexProfile,
    embedder: Embedder,
    *,
    chunking: ChunkerSettings | None = None,
    find_topics: FindTopics | None = None,
) -> Splitter:
    """Return the profile's splitter; `chunking` overrides the profile's own settings."""
    chunker = chunking or chunker_settings(profile)
    try:
        return splitter_for(
            chunker.chunker,
            embedder,
            size=chunker.size,
            overlap=chunker.overlap,
            options=chunker.options,
            keeps_together=profile.ingestion_version >= 2,
            find_topics=find_topics,
        )
    except ValueError as error:
        raise ProfileMismatch(
            f"The index profile {profile.name!r} cannot be used: {error}."
        ) from error


def load_embedder(alias: str) -> Embedder:
    try:
        embedder: Embedder = load_backend("EMBEDDERS", alias)
        if isinstance(embedder, RemoteEmbedder) and isinstance(embedder.rate_limiter, NoRateLimit):
            embedder.rate_limiter = SharedRateLimiter(
                alias,
                requests_per_minute=embedder.requests_per_minute,
                tokens_per_minute=embedder.tokens_per_minute,
            )
    except Exception as error:  # a missing package, a broken model folder, a misspelt setting
        raise EmbeddingFailed(f"The embedder {alias!r} cannot be loaded.") from error
    return embedder


def _pin(profile: IndexProfile, embedder: Embedder) -> None:
    """Record the profile's model, once; the first writer wins."""
    with operator():
        unpinned = IndexProfile.objects.filter(pk=profile.pk, model_identity="")
        unpinned.update(model_identity=embedder.identity)
        profile.model_identity = IndexProfile.objects.values_list("model_identity", flat=True).get(
            pk=profile.pk
        )
