"""A document's own chunking options: checked on upload, applied whenever its text is split.

They are stored in `Document.given["chunking"]`, next to title and tags, and override the index
profile's chunker settings. The embedding model is always the profile's
(docs/decisions/0023-the-owners-documents.md).
"""

import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from django.conf import settings

from documents.chunking.base import Splitter
from documents.chunking.llm import FindTopics
from documents.chunking.methods import UNITS, ChunkerSettings, ChunkingOptions, misfit, size_limits
from documents.chunking.topic_finding import ask_for_topics, read_topics
from documents.embedders import Embedder
from documents.errors import BadFile
from documents.language_models.base import LanguageModel, LanguageModelUnavailable
from documents.metering.language_models import book_usage, require_room
from documents.models import Document, IndexProfile, Namespace
from documents.profiles import profiles
from ragsite.database.tenancy import namespace
from ragsite.platform.backends import load_backend

TYPICAL_CHARACTERS_PER_TOKEN = 4  # characters of English prose


class BadChunking(BadFile):
    """The options are invalid, or the namespace's embedding model cannot read such chunks."""

    code = "invalid_chunking"


def requested_by(document: Document) -> dict[str, Any]:
    """Return the options of the document's uploads; empty if the profile decides."""
    return document.given.get("chunking") or {}


def is_changed_by(document: Document, options: ChunkingOptions | None) -> bool:
    return options is not None and options.as_json() != requested_by(document)


def check(namespace_id: uuid.UUID, options: ChunkingOptions | None) -> tuple[str, ...]:
    """Return warnings about the options. Raises BadChunking, with the allowed limits."""
    if options is None or not options.as_json():
        return ()
    with namespace(namespace_id):
        tenants = Namespace.objects.select_related("active_profile")
        profile = tenants.get(pk=namespace_id).active_profile
    embedder = profiles.load_embedder(profile.embedder)
    merged = options.over(profiles.chunker_settings(profile))
    if merged.chunker == "llm" and not settings.CHUNKING["model"]:
        raise BadChunking("chunking.method: llm needs a language model, and none is set up here.")
    if wrong := misfit(merged, embedder):
        name, sentence = wrong
        error = BadChunking(f"chunking.{name}: {sentence}")
        error.details = _limits(merged.chunker, embedder)
        raise error
    return _size_warnings(merged, embedder)


def _limits(method: str, embedder: Embedder) -> dict[str, Any]:
    if method not in UNITS:
        return {"methods": list(UNITS)}
    minimum, maximum = size_limits(method, embedder)
    return {"method": method, "unit": UNITS[method], "min_size": minimum, "max_size": maximum}


def _size_warnings(merged: ChunkerSettings, embedder: Embedder) -> tuple[str, ...]:
    readable = embedder.max_tokens * TYPICAL_CHARACTERS_PER_TOKEN
    if merged.chunker != "fixed" or merged.size <= readable:
        return ()
    return (
        f"chunking.size: the embedding model reads {embedder.max_tokens} tokens at once, about "
        f"{readable} characters of English; longer chunks are cut there.",
    )


def splitter_for_document(
    profile: IndexProfile,
    embedder: Embedder,
    requested: Mapping[str, Any],
    *,
    namespace_id: uuid.UUID | None,
) -> tuple[Splitter, tuple[str, ...]]:
    """Return the splitter for a document under the profile, and warnings.

    Options that do not fit the profile's embedding model are not applied. Without a namespace to
    charge, no language model is asked.
    """
    default = profiles.chunker_settings(profile)
    merged = ChunkingOptions(**requested).over(default)
    warnings: tuple[str, ...] = ()
    if requested and (wrong := misfit(merged, embedder)):
        warnings = (
            f"chunking_not_applied: under the index profile {profile.name!r} the document is cut "
            f"by the profile's own settings, because its chunking does not fit: {wrong[1]}",
        )
        merged = default
    find_topics = None
    if merged.chunker == "llm" and namespace_id is not None:
        find_topics = topic_finder(namespace_id)
    splitter = profiles.splitter_of(profile, embedder, chunking=merged, find_topics=find_topics)
    return splitter, warnings


def topic_finder(namespace_id: uuid.UUID) -> FindTopics:
    """Return a function that asks CHUNKING_MODEL for topics, within the namespace's caps.

    A model that cannot be loaded fails when it is called, like one that does not respond.
    """

    def find(sentences: Sequence[str]) -> list[int]:
        model = _chunking_model()
        require_room(model, namespace_id)
        completion = ask_for_topics(model, sentences, seconds=settings.CHUNKING["seconds"])
        book_usage(model, namespace_id, completion.usage)
        return read_topics(completion.text, len(sentences))

    return find


def _chunking_model() -> LanguageModel:
    alias = settings.CHUNKING["model"]
    try:
        model = load_backend("LANGUAGE_MODELS", alias)
    except Exception as error:  # no such alias, a missing package, a misspelt option
        raise LanguageModelUnavailable(
            f"The language model {alias!r} of CHUNKING_MODEL cannot be loaded."
        ) from error
    if not isinstance(model, LanguageModel):
        raise LanguageModelUnavailable(f"{alias!r} of CHUNKING_MODEL is not a language model.")
    return model
