"""A document's own chunking: checked when it is asked for, applied whenever its text is cut.

What an upload asks for is kept in `Document.given["chunking"]`, beside its title and tags. It takes
the place of the index profile's chunker settings when the text is split; the embedding model is
always the profile's (docs/decisions/0023-the-owners-documents.md).
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

TYPICAL_CHARACTERS_PER_TOKEN = 4  # of English prose


class BadChunking(BadFile):
    """The options make no sense, or the namespace's embedding model cannot read such chunks."""

    code = "invalid_chunking"


def requested_by(document: Document) -> dict[str, Any]:
    """What the document's uploads asked for; empty where the profile decides."""
    return document.given.get("chunking") or {}


def is_changed_by(document: Document, options: ChunkingOptions | None) -> bool:
    return options is not None and options.as_json() != requested_by(document)


def check(namespace_id: uuid.UUID, options: ChunkingOptions | None) -> tuple[str, ...]:
    """Raises BadChunking, with the limits; returns warnings about what will come out otherwise."""
    if options is None or not options.as_json():
        return ()
    with namespace(namespace_id):
        tenants = Namespace.objects.select_related("active_profile")
        profile = tenants.get(pk=namespace_id).active_profile
    embedder = profiles.load_embedder(profile.embedder)
    wanted = options.over(profiles.chunker_settings(profile))
    if wanted.chunker == "llm" and not settings.CHUNKING["model"]:
        raise BadChunking("chunking.method: llm needs a language model, and none is set up here.")
    if wrong := misfit(wanted, embedder):
        name, sentence = wrong
        error = BadChunking(f"chunking.{name}: {sentence}")
        error.details = _limits(wanted.chunker, embedder)
        raise error
    return _size_warnings(wanted, embedder)


def _limits(method: str, embedder: Embedder) -> dict[str, Any]:
    if method not in UNITS:
        return {"methods": list(UNITS)}
    least, most = size_limits(method, embedder)
    return {"method": method, "unit": UNITS[method], "min_size": least, "max_size": most}


def _size_warnings(wanted: ChunkerSettings, embedder: Embedder) -> tuple[str, ...]:
    readable = embedder.max_tokens * TYPICAL_CHARACTERS_PER_TOKEN
    if wanted.chunker != "fixed" or wanted.size <= readable:
        return ()
    return (
        f"chunking.size: the embedding model reads {embedder.max_tokens} tokens at once, about "
        f"{readable} characters of English; longer chunks are cut there.",
    )


def splitter_for_document(
    profile: IndexProfile,
    embedder: Embedder,
    asked: Mapping[str, Any],
    *,
    namespace_id: uuid.UUID | None,
) -> tuple[Splitter, tuple[str, ...]]:
    """How this document is cut under the profile, and warnings. Options that do not fit the
    profile's embedding model are left aside. Without a namespace that pays for it, no language
    model is asked."""
    own = profiles.chunker_settings(profile)
    wanted = ChunkingOptions(**asked).over(own)
    warnings: tuple[str, ...] = ()
    if asked and (wrong := misfit(wanted, embedder)):
        warnings = (
            f"chunking_not_applied: under the index profile {profile.name!r} the document is cut "
            f"by the profile's own settings, because its chunking does not fit: {wrong[1]}",
        )
        wanted = own
    find_topics = None
    if wanted.chunker == "llm" and namespace_id is not None:
        find_topics = topic_finder(namespace_id)
    splitter = profiles.splitter_of(profile, embedder, chunking=wanted, find_topics=find_topics)
    return splitter, warnings


def topic_finder(namespace_id: uuid.UUID) -> FindTopics:
    """Asks the model of CHUNKING_MODEL, within the namespace's caps, and books what it takes. One
    that cannot be loaded fails like one that does not answer: when it is asked."""

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
        raise LanguageModelUnavailable(f"{alias!r} of CHUNKING_MODEL is no language model.")
    return model
