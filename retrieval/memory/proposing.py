"""Have a language model extract facts from a text, as proposals: each with an exact span, none of
them a fact before it is approved."""

import time
import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.conf import settings

from documents.language_models.base import LanguageModel, Usage
from documents.memory.statements import Outcome, Place, StatedFact
from documents.memory.writing import remember
from documents.metadata import storable
from documents.metering.language_models import book_usage, require_room
from documents.models import Document, DocumentVersion, Fact, FactStatement
from documents.passages import MAX_FACT_NAME
from ragsite.database.tenancy import namespace
from ragsite.platform.backends import load_backend
from ragsite.platform.errors import ApiError
from ragsite.web.threads import release_connections
from retrieval.answering.question.model_json import ask_for_json

MAX_TEXT = 20_000  # maximum number of characters that are read
MAX_PROPOSALS = 50
MAX_TOKENS = 4000
MAX_OBJECT_TEXT = 2000
CERTAINTY = 0.7  # certainty of a proposal without one

TASK = (
    "Read the text and list the facts that it states explicitly. Answer with an object "
    '{"facts": [{"subject": "…", "predicate": "…", "object": "…", "certainty": 0.9, '
    '"quote": "…"}]}. The predicate is a short verb phrase such as "lives in". The quote is the '
    "shortest passage of the text, word for word, that states the fact. Leave out opinions, "
    "questions and whatever the text does not state."
)


@dataclass(frozen=True, slots=True)
class Proposed:
    outcomes: list[Outcome]
    dropped: int  # items without a quote from the text, or not usable


def propose_from_text(
    namespace_id: uuid.UUID, text: str, *, model: str = "", user: str = "", source_uri: str = ""
) -> Proposed:
    """Propose facts from a text. Raises ApiError without a model, and LanguageModelFailed. Call it
    outside of transactions."""
    return _propose(namespace_id, text[:MAX_TEXT], model, user=user, source_uri=source_uri)


def propose_from_document(
    namespace_id: uuid.UUID, document_id: uuid.UUID, *, model: str = "", user: str = ""
) -> Proposed:
    """Read the beginning of a document's live version. Raises Document.DoesNotExist, too."""
    with namespace(namespace_id):
        document = Document.objects.get(pk=document_id)
        version = DocumentVersion.objects.filter(
            document=document, state=DocumentVersion.State.LIVE
        ).first()
    if version is None:
        raise ApiError("not_ready", "The document has not been indexed yet.", http_status=409)
    return _propose(
        namespace_id,
        version.text[:MAX_TEXT],
        model,
        user=user,
        source_uri=document.source_uri,
        version=version,
    )


def _propose(
    namespace_id: uuid.UUID,
    text: str,
    alias: str,
    *,
    user: str,
    source_uri: str,
    version: DocumentVersion | None = None,
) -> Proposed:
    model = _model(alias)
    require_room(model, namespace_id)
    release_connections()  # none is held while the model reads

    def book(usage: Usage) -> None:
        book_usage(model, namespace_id, usage)

    deadline = time.monotonic() + settings.ANSWERS["seconds"]
    reply = ask_for_json(
        model, TASK, {"text": text}, deadline=deadline, max_tokens=MAX_TOKENS, book=book
    )
    listed = (reply or {}).get("facts")
    found = listed[:MAX_PROPOSALS] if isinstance(listed, list) else []
    statements = list(_usable(found, text, user=user, source_uri=source_uri, version=version))
    outcomes = remember(namespace_id, statements, is_approved=False) if statements else []
    return Proposed(outcomes, len(found) - len(statements))


def _model(alias: str) -> LanguageModel:
    name = alias or settings.ANSWERS["model"]
    known = name in settings.LANGUAGE_MODELS
    backend = load_backend("LANGUAGE_MODELS", name) if known else None
    if not isinstance(backend, LanguageModel):
        raise ApiError(
            "model_not_configured",
            "Proposals need a language model, and none is configured under this name.",
            http_status=422,
        )
    return backend


def _usable(
    found: Iterable[Any],
    text: str,
    *,
    user: str,
    source_uri: str,
    version: DocumentVersion | None,
) -> Iterable[StatedFact]:
    """Keep complete items with a quote that occurs in the text word for word."""
    for one in found:
        if not isinstance(one, dict) or storable(one) != one:
            continue
        subject, predicate, value, quote = (
            one.get(name) for name in ("subject", "predicate", "object", "quote")
        )
        names = [n.strip() for n in (subject, predicate) if isinstance(n, str)]
        if len(names) < 2 or not all(0 < len(name) <= MAX_FACT_NAME for name in names):
            continue
        if isinstance(value, list | dict) or value is None or value == "":
            continue
        if not isinstance(quote, str) or not quote.strip() or quote not in text:
            continue
        start = text.index(quote)
        place = version and Place(version.document_id, version.pk, start, start + len(quote))
        yield StatedFact(
            subject=names[0],
            predicate=names[1],
            object=value[:MAX_OBJECT_TEXT] if isinstance(value, str) else value,
            certainty=_certainty(one.get("certainty")),
            user=user,
            source_uri=source_uri,
            kind=FactStatement.Kind.PASSAGE if version else FactStatement.Kind.CLIENT,
            source=Fact.Source.MODEL,
            place=place or None,
        )


def _certainty(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return CERTAINTY
    return min(max(float(value), 0.0), 1.0)
