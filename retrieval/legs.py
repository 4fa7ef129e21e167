"""Both legs at once: the words' search runs in the database while the question is embedded. Then
both are asked about what either has found."""

import logging
import uuid
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from functools import partial

from django.conf import settings

from documents.errors import IngestError
from documents.lexemes import ParsedQuery
from documents.models import Namespace
from ragsite.tenancy import namespace

from . import dense, lexical, side_thread
from .clock import Clock
from .questions import embed_question
from .requests import Candidate, SearchRequest
from .scope import Scope, resolve
from .scoring import NOTHING, Scored, score, union

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Words:
    """What the lexical leg found, and the question as it understood it."""

    candidates: Sequence[Candidate] = ()
    question: lexical.Question | None = None
    fallbacks: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Legs:
    near: Sequence[Candidate]
    words: Words
    scored: Scored  # the candidates of both with the scores of both
    vector: Sequence[float] | None  # None: not asked for, or nobody could embed the question
    plan: str = "none"
    fallbacks: tuple[str, ...] = ()
    is_current: bool = True  # False: some of it was replaced before it could be scored


NO_LEGS = Legs((), Words(), NOTHING, None)
NO_PHRASE = "phrase_not_found: no passage has the quoted words as they stand, so each by itself"


def find_candidates(
    tenant: Namespace, query: ParsedQuery, request: SearchRequest, clock: Clock
) -> Legs:
    """Candidates of the legs that the mode asks for; the words alone if nothing can embed."""
    scope = Scope(chunks=tenant.chunk_count)
    if not request.filters.is_empty:
        with namespace(tenant.pk):
            scope = resolve(request.filters, tenant, few=settings.SEARCH["exact_scan_rows"])
    limit = max(settings.SEARCH["candidates"], request.k)
    # Phrases and exclusions are matters of words, whatever the mode.
    wants_words = request.mode != "semantic" or bool(query.phrases or query.excluded)
    meanwhile: Future[Words] | None = None
    vector: Sequence[float] | None = None
    fallbacks: tuple[str, ...] = ()
    if request.mode != "lexical":
        if wants_words:
            meanwhile = side_thread.start(_words_beside, tenant, query, scope, limit, clock)
        vector, fallbacks = _embed(tenant, query.text, clock)
    with namespace(tenant.pk):
        near, plan = _near(tenant, vector, scope, limit, clock)
        if meanwhile is not None:
            words = meanwhile.result()
        elif vector is None:
            words = _words(tenant, query, scope, limit, clock)
        else:
            words = Words()
        with clock("score"):
            found = union(near, words.candidates)
            scored = score(found, vector=vector, question=words.question)
    is_current = len(scored.candidates) + len(scored.refused) == len(found)
    return Legs(near, words, scored, vector, plan, fallbacks + words.fallbacks, is_current)


def _words_beside(
    tenant: Namespace, query: ParsedQuery, scope: Scope, limit: int, clock: Clock
) -> Words:
    with namespace(tenant.pk):
        return _words(tenant, query, scope, limit, clock)


def _words(tenant: Namespace, query: ParsedQuery, scope: Scope, limit: int, clock: Clock) -> Words:
    profile_id = tenant.active_profile.pk
    with clock("lexical"):
        question = lexical.analyse(query, namespace_id=tenant.pk, profile_id=profile_id)
        if question is not None:
            return _counted_words(question, query, profile_id, scope, limit)
        if not tenant.chunk_count:
            return Words()
        found = lexical.find_plainly(
            query, profile_id=profile_id, scope=scope, limit=limit, language=tenant.language
        )
        return Words(found, None, ("plain_full_text: words_not_counted",))


def _counted_words(
    question: lexical.Question, query: ParsedQuery, profile_id: uuid.UUID, scope: Scope, limit: int
) -> Words:
    """A phrase nobody wrote, beside other words, should not leave the question without answer."""
    budget = settings.SEARCH["lexical_budget"]
    find = partial(lexical.find, profile_id=profile_id, scope=scope, limit=limit, budget=budget)
    found = find(question)
    if found or not question.phrases or query.is_all_phrases:
        return Words(found, question)
    question = replace(question, phrases="")
    return Words(find(question), question, notes=(NO_PHRASE,))


def _embed(
    tenant: Namespace, text: str, clock: Clock
) -> tuple[Sequence[float] | None, tuple[str, ...]]:
    """The question's vector; without one, and saying so, if the embedder does not work."""
    try:
        with clock("embed"):
            return embed_question(tenant, text), ()
    except IngestError as error:
        logger.warning("search.fallback", extra={"code": error.code}, exc_info=True)
        return None, (f"lexical_only: {error.code}",)


def _near(
    tenant: Namespace, vector: Sequence[float] | None, scope: Scope, limit: int, clock: Clock
) -> tuple[Sequence[Candidate], str]:
    if vector is None:
        return (), "none"
    with clock("vector"):
        return dense.find(
            vector,
            namespace_id=tenant.pk,
            profile=tenant.active_profile,
            scope=scope,
            limit=limit,
            exact_up_to=settings.SEARCH["exact_scan_rows"],
            ef_search=max(settings.SEARCH["ef_search"], limit),
        )
