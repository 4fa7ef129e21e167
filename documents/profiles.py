"""Which embedder and splitter serve an index profile — and that no other embedder ever does."""

from typing import Any

from ragsite.backends import load_backend
from ragsite.tenancy import operator

from .chunking import splitter_for
from .embedders import Embedder
from .embedders.remote import NoPace, RemoteEmbedder
from .errors import EmbeddingFailed, IngestError
from .models import IndexProfile
from .pace import SharedPace
from .splitting import Splitter
from .vector_indexes import require_method

# Size and overlap where none are named: tokens, or characters with the fixed chunker.
SIZES = {"structure": (200, 30), "fixed": (1000, 200), "semantic": (220, 0)}


class ProfileMismatch(IngestError):
    """The configured embedder is not the one this profile's vectors were made with."""

    code = "profile_mismatch"


def create(name: str, **fields: Any) -> IndexProfile:
    """A new profile: what is not named follows from what is. Its vector index is made when the
    first namespace needs it.

    Raises ValidationError for settings that make no sense, IngestError for those that cannot work
    here: an embedder or an index method that is not there.
    """
    fields = {key: value for key, value in fields.items() if value is not None}
    size, overlap = SIZES.get(fields.get("chunker", "structure"), (1, 0))
    embedder = load_embedder(fields.get("embedder", "default"))
    unnamed = {
        "embedder": "default",
        "dimensions": embedder.dimensions,
        "chunk_size": size,
        "chunk_overlap": fields.get("chunk_size", size) * overlap // size,
    }
    profile = IndexProfile(name=name, **{**unnamed, **fields})
    with operator():
        profile.full_clean()
        require_fitting(profile, embedder)
        profile.save(force_insert=True)
    return profile


def require_fitting(profile: IndexProfile, embedder: Embedder) -> None:
    """That this embedder gives the profile's vectors and reads its chunks, and that the server has
    its index method."""
    if embedder.dimensions != profile.dimensions:
        raise ProfileMismatch(
            f"The embedder {profile.embedder!r} gives vectors of {embedder.dimensions} dimensions, "
            f"not {profile.dimensions}."
        )
    splitter_of(profile, embedder)
    require_method(profile.ann_method)


def embedder_of(profile: IndexProfile) -> Embedder:
    """The profile's embedder, refused if its vectors could not be compared with the stored ones."""
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


def splitter_of(profile: IndexProfile, embedder: Embedder) -> Splitter:
    """How the profile cuts texts into passages."""
    try:
        return splitter_for(
            profile.chunker,
            embedder,
            size=profile.chunk_size,
            overlap=profile.chunk_overlap,
            options=profile.chunker_options,
            keeps_together=profile.ingestion_version >= 2,
        )
    except ValueError as error:
        raise ProfileMismatch(
            f"The index profile {profile.name!r} cannot be used: {error}."
        ) from error


def load_embedder(alias: str) -> Embedder:
    try:
        embedder: Embedder = load_backend("EMBEDDERS", alias)
        if isinstance(embedder, RemoteEmbedder) and isinstance(embedder.pace, NoPace):
            embedder.pace = SharedPace(
                alias,
                requests_per_minute=embedder.requests_per_minute,
                tokens_per_minute=embedder.tokens_per_minute,
            )
    except Exception as error:  # a missing package, a broken model folder, a misspelt setting
        raise EmbeddingFailed(f"The embedder {alias!r} cannot be loaded.") from error
    return embedder


def _pin(profile: IndexProfile, embedder: Embedder) -> None:
    """Write down, once, which model this profile belongs to; the first writer decides."""
    with operator():
        unpinned = IndexProfile.objects.filter(pk=profile.pk, model_identity="")
        unpinned.update(model_identity=embedder.identity)
        profile.model_identity = IndexProfile.objects.values_list("model_identity", flat=True).get(
            pk=profile.pk
        )
