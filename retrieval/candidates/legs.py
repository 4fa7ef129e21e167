"""Both legs at once: the words' search runs in the database while the question is embedded. Then
both are asked about what either has found."""

import logging
import uuid
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

from django.conf import settings

from documents.errors import IngestError
from documents.models import Namespace
from documents.text.lexemes import ParsedQuery
from ragsite.database.tenancy import namespace
from retrieval.requests import Candidate, SearchRequest
from retrieval.timing import Clock

from . import dense, lexical, side_thread
from .query_embedding import embed_question
from .scope import Scope, resolve
from .scoring import NOTHING, Scored, compare, score, union

logger = logging.getLogger(__name__)

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Words:
    """What the lexical leg found, and the question as it understood it."""

    candidates: Sequence[Candidate] = ()
    question: lexical.LexicalQuery | None = None
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
    tenant: Namespace,
    query: ParsedQuery,
    request: SearchRequest,
    clock: Clock,
    transaction: ExitStack,
) -> Legs:
    """Candidates of the legs that the mode asks for; the words alone if nothing can embed. What it
    reads after the question is embedded is read in `transaction`, which goes on."""
    # Phrases and exclusions are matters of words, whatever the mode.
    wants_words = request.mode != "semantic" or bool(query.phrases or query.excluded)
    beside: _Beside | None = None
    vector: Sequence[float] | None = None
    fallbacks: tuple[str, ...] = ()
    if request.mode != "lexical":
        if wants_words:
            beside = _Beside(tenant, query, request, clock)
        vector, fallbacks = _embed(tenant, query.text, clock)
        if beside is not None:
            vector = beside.vector = _respelt(tenant, vector, beside.question.result(), clock)
    transaction.enter_context(namespace(tenant.pk))
    scope = beside.scope.result() if beside else _scope(tenant, request)
    question = beside.question.result() if beside else None
    near, plan = _near(tenant, vector, question, scope, request, clock)
    if beside is not None:
        words = beside.words.result()
    elif vector is None:
        words = _words(tenant, query, scope, request, clock)
    else:
        words = Words()
    with clock("score"):
        found = union(near, words.candidates)
        scored = score(found, vector=vector)
    is_current = len(scored.candidates) + len(scored.refused) == len(found)
    return Legs(near, words, scored, vector, plan, fallbacks + words.fallbacks, is_current)


class _Beside:
    """The lexical leg on its way, in another thread. Where it looks and how it understands the
    question is known before it has found anything."""

    def __init__(
        self, tenant: Namespace, query: ParsedQuery, request: SearchRequest, clock: Clock
    ) -> None:
        self.scope: Future[Scope] = Future()
        self.question: Future[lexical.LexicalQuery | None] = Future()
        self.vector: Sequence[float] | None = None  # as soon as it is known

        def find() -> Words:
            with namespace(tenant.pk):
                scope = _scope(tenant, request)
                _settle(self.scope, scope)
                words = _words(tenant, query, scope, request, clock, self._understood)
                if self.vector is not None:  # whoever asked for it looks for what is near it now
                    compare(words.candidates, self.vector)
                return words

        self.words = side_thread.start(find)
        self.words.add_done_callback(self._ended)

    def _understood(self, question: lexical.LexicalQuery | None) -> None:
        _settle(self.question, question)

    def _ended(self, words: "Future[Words]") -> None:
        error = words.exception()
        if error is None:
            return self._understood(words.result().question)
        for waited_for in (self.scope, self.question):
            if not waited_for.done():
                waited_for.set_exception(error)


def _settle(future: "Future[T]", value: T) -> None:
    if not future.done():  # it is, if the work had to begin again
        future.set_result(value)


def _candidates_for(request: SearchRequest) -> int:
    """That each leg brings."""
    return max(settings.SEARCH["candidates"], request.k)


def _scope(tenant: Namespace, request: SearchRequest) -> Scope:
    """Inside namespace()."""
    if request.filters.is_empty:
        return Scope(chunks=tenant.chunk_count)
    return resolve(request.filters, tenant, few=settings.SEARCH["exact_scan_rows"])


def _words(
    tenant: Namespace,
    query: ParsedQuery,
    scope: Scope,
    request: SearchRequest,
    clock: Clock,
    tell: Callable[[lexical.LexicalQuery | None], None] = lambda question: None,
) -> Words:
    profile_id = tenant.active_profile.pk
    with clock("lexical"):
        question = lexical.analyse(query, namespace_id=tenant.pk, profile_id=profile_id)
        if question is None or not question.phrases:  # else they may yet be given up
            tell(question)
        if question is not None:
            return _counted_words(question, query, profile_id, scope, request)
        if not tenant.chunk_count:
            return Words()
        found = lexical.find_plainly(
            query,
            profile_id=profile_id,
            scope=scope,
            limit=_candidates_for(request),
            language=tenant.language,
        )
        return Words(found, None, ("plain_full_text: words_not_counted",))


def _counted_words(
    question: lexical.LexicalQuery,
    query: ParsedQuery,
    profile_id: uuid.UUID,
    scope: Scope,
    request: SearchRequest,
) -> Words:
    """A phrase nobody wrote, beside other words, should not leave the question without answer."""
    find = partial(
        lexical.find,
        profile_id=profile_id,
        scope=scope,
        limit=_candidates_for(request),
        budget=settings.SEARCH["lexical_budget"],
        enough=request.k,
    )
    found = find(question)
    if found or not question.phrases or query.is_all_phrases:
        return Words(found, question, notes=question.notes)
    question = replace(question, phrases="")
    return Words(find(question), question, notes=(*question.notes, NO_PHRASE))


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


def _respelt(
    tenant: Namespace,
    vector: Sequence[float] | None,
    question: lexical.LexicalQuery | None,
    clock: Clock,
) -> Sequence[float] | None:
    """The vector of the question without its spelling mistakes, which are known by now."""
    if vector is None or question is None or not question.respelt:
        return vector
    return _embed(tenant, question.respelt, clock)[0] or vector


def _near(
    tenant: Namespace,
    vector: Sequence[float] | None,
    question: lexical.LexicalQuery | None,
    scope: Scope,
    request: SearchRequest,
    clock: Clock,
) -> tuple[Sequence[Candidate], str]:
    if vector is None:
        return (), "none"
    with clock("vector"):
        return dense.find(
            vector,
            namespace_id=tenant.pk,
            profile=tenant.active_profile,
            scope=scope,
            limit=_candidates_for(request),
            exact_up_to=settings.SEARCH["exact_scan_rows"],
            ef_search=max(settings.SEARCH["ef_search"], _candidates_for(request)),
            question=question,
        )
