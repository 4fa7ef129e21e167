"""The state of one answer: its writer, the namespace's preferences, and the usage so far."""

import threading
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field

from django.conf import settings

from documents.errors import IngestError
from documents.language_models.base import Cancelled, LanguageModel, Usage
from documents.metering.embeddings import book_question
from documents.metering.language_models import require_room
from documents.models import IndexProfile, Namespace
from documents.profiles import profiles
from ragsite.database.tenancy import namespace
from ragsite.platform.backends import load_backend
from ragsite.platform.errors import ApiError
from ragsite.web.threads import release_connections
from retrieval import reranking
from retrieval.answering.model_writer import ModelWriter
from retrieval.answering.writers.base import Embed, Writer
from retrieval.answering.writers.extractive import ExtractiveWriter
from retrieval.ranking import relevance
from retrieval.rerankers.base import RerankPassage
from retrieval.timing import Clock

from .requests import AnswerRequest, Preferences


@dataclass(frozen=True, slots=True)
class Call:
    """Everything that stays the same from the question to the answer."""

    namespace_id: uuid.UUID
    request: AnswerRequest
    preferences: Preferences
    alias: str  # of the writer, in settings.LANGUAGE_MODELS
    writer: Writer
    model: LanguageModel | None  # None if the writer needs no model
    embed: Embed | None
    min_relevance: float  # of the best passage; below this, no model is called
    deadline: float
    cancelled: threading.Event

    def require_wanted(self) -> None:
        """Raise Cancelled if the caller has left."""
        if self.cancelled.is_set():
            raise Cancelled


@dataclass(slots=True)
class AnswerProgress:
    """The usage and the steps of a call so far."""

    started: float = field(default_factory=time.perf_counter)
    clock: Clock = field(default_factory=Clock)
    usage: Usage = field(default_factory=Usage)
    searches: list[str] = field(default_factory=list)
    fallbacks: list[str] = field(default_factory=list)

    def book(self, usage: Usage) -> None:
        self.usage += usage


def prepare(namespace_id: uuid.UUID, request: AnswerRequest, cancelled: threading.Event) -> Call:
    preferences, profile = _preferences(namespace_id)
    alias = request.model or preferences.model or settings.ANSWERS["model"]
    writer, model = _writer(alias)
    if model is not None:
        require_room(model, namespace_id)
    return Call(
        namespace_id=namespace_id,
        request=request,
        preferences=preferences,
        alias=alias,
        writer=writer,
        model=model,
        embed=_embed(namespace_id, profile),
        min_relevance=_min_relevance(preferences, profile),
        deadline=time.monotonic() + settings.ANSWERS["seconds"],
        cancelled=cancelled,
    )


def _preferences(namespace_id: uuid.UUID) -> tuple[Preferences, IndexProfile]:
    with namespace(namespace_id):
        row = Namespace.objects.select_related("active_profile").get(pk=namespace_id)
    preferences = Preferences(
        model=row.answer_model,
        system_prompt=row.answer_prompt,
        language=row.answer_language,
        min_relevance=row.answer_min_relevance,
    )
    return preferences, row.active_profile


def _min_relevance(preferences: Preferences, profile: IndexProfile) -> float:
    """Return the namespace's minimum. By default only unrelated passages are rejected, and only if
    relevance is calibrated for the embedding model."""
    if preferences.min_relevance is not None:
        return preferences.min_relevance
    return relevance.NOTHING_NEAR if relevance.is_calibrated(profile.model_identity) else 0.0


def _writer(alias: str) -> tuple[Writer, LanguageModel | None]:
    if alias not in settings.LANGUAGE_MODELS:
        available = sorted(settings.LANGUAGE_MODELS)
        raise ApiError(
            "model_not_configured",
            f"There is no language model {alias!r} here; there are {', '.join(available)}.",
            http_status=422,
            details={"available": available},
        )
    backend = load_backend("LANGUAGE_MODELS", alias)
    if isinstance(backend, ExtractiveWriter):
        return _with_cross_encoder(backend), None
    if not isinstance(backend, LanguageModel):
        return backend, None
    writer = ModelWriter(
        backend,
        max_tokens=settings.ANSWERS["max_tokens"],
        template_file=settings.ANSWERS["prompt_file"],
    )
    return writer, backend


def _with_cross_encoder(writer: ExtractiveWriter) -> ExtractiveWriter:
    """Have a configured cross-encoder order the best sentences, too."""
    if writer.score_pairs is not None or "cross-encoder" not in settings.RERANKERS:
        return writer
    return ExtractiveWriter(
        embedding_languages=writer.embedding_languages, score_pairs=_score_pairs
    )


def _score_pairs(question: str, texts: Sequence[str]) -> Sequence[float]:
    """Return one score per text; all equal, which changes no order, if the cross-encoder fails."""
    chosen = reranking.choose(question, choice="cross-encoder")
    passages = [RerankPassage(text, None) for text in texts]
    return reranking.rerank(question, passages, chosen).scores or [0.0] * len(texts)


def _embed(namespace_id: uuid.UUID, profile: IndexProfile) -> Embed | None:
    """Embed sentences with the namespace's embedder; None if it fails."""
    try:
        embedder = profiles.embedder_of(profile)
    except IngestError:
        return None

    def embed(texts: Sequence[str]) -> list[list[float]]:
        release_connections()  # a provider may be slow
        vectors = [vector for batch in embedder.embed_documents(texts) for vector in batch]
        book_question(embedder, namespace_id, "\n".join(texts))
        return vectors

    return embed
