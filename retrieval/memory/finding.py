"""Recall: the facts that match a question, ranked by relevance × certainty × decay."""

import logging
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from pgvector.django import CosineDistance

from documents.errors import IngestError
from documents.memory.naming import rules_of
from documents.memory.reading import as_then, held
from documents.memory.rules.periods import decay
from documents.memory.rules.predicates import ValueRule
from documents.memory.rules.scope import FactScope
from documents.models import Fact, FactVector
from ragsite.database.tenancy import namespace
from retrieval.candidates.bm25 import Term
from retrieval.candidates.query_embedding import embed_question
from retrieval.ranking import relevance
from retrieval.requests import Candidate
from retrieval.search_context import SearchedIndex, read_index

from .words import holding_any, scored, terms_of

logger = logging.getLogger(__name__)

CANDIDATES = 100  # number of candidates of each leg
SECONDS_OF_A_DAY = 86400.0
# Below this a fact is unrelated to the question. Far below the threshold for passages
# (relevance.NOTHING_NEAR), because the best fact may share no word and little meaning with the
# question.
UNRELATED = 0.005


@dataclass(frozen=True, slots=True)
class RecallRequest:
    query: str = ""  # blank: everything in the scope
    k: int = 10
    scope: FactScope = field(default_factory=FactScope)
    mode: str = "hybrid"  # hybrid | semantic | lexical
    min_relevance: float | None = None  # None: leave out unrelated facts


@dataclass(frozen=True, slots=True)
class Recalled:
    """A fact that was found, with the factors of its score."""

    fact: Fact
    relevance: float
    decay: float
    age_days: float
    half_life_days: float | None
    vector: float | None  # cosine similarity
    lexical: float | None
    copies: tuple[uuid.UUID, ...] = ()  # identical facts from rows of tables

    @property
    def score(self) -> float:
        return self.relevance * self.fact.certainty * self.decay


@dataclass(frozen=True, slots=True)
class RecallResult:
    hits: tuple[Recalled, ...]
    fallbacks: tuple[str, ...] = ()


def recall(namespace_id: uuid.UUID, request: RecallRequest) -> RecallResult:
    """Search facts. Call it outside of transactions: embedding may wait for a provider."""
    index = read_index(namespace_id)
    vector, fallbacks = _embed(index, request)
    now = datetime.now(UTC)
    moment = request.scope.as_of or request.scope.known_at or now
    with namespace(namespace_id):
        facts = held(namespace_id, request.scope, now).defer("words")
        if request.query:
            terms = terms_of(namespace_id, request.query, index.language)
            candidates = _candidates(index, facts, vector, terms, request)
            relevance.judge(candidates, terms=terms, model_identity=index.profile.model_identity)
        else:
            candidates = _everything(facts)
        found = {fact.pk: as_then(fact) for fact in _read(facts, candidates)}
        rules = rules_of(namespace_id, {fact.predicate_key for fact in found.values()})
    weighed = [
        _weighed(found[c.chunk_id], c, rules[found[c.chunk_id].predicate_key], moment)
        for c in candidates
        if c.chunk_id in found
    ]
    least = _least_relevance(request, index, has_vector=vector is not None)
    fitting = [hit for hit in weighed if hit.relevance >= least]
    ranked = sorted(fitting, key=lambda hit: (-hit.score, hit.fact.source, str(hit.fact.pk)))
    hits = _each_once(ranked)[: request.k]
    logger.info("memory.recalled", extra={"hits": len(hits), "fallbacks": fallbacks})
    return RecallResult(tuple(hits), fallbacks)


def _least_relevance(request: RecallRequest, index: SearchedIndex, *, has_vector: bool) -> float:
    """Return the default minimum relevance. Without a vector only facts with a word of the question
    are found, and the relevance for a model that is not calibrated is too imprecise, so nothing is
    left out."""
    if request.min_relevance is not None:
        return request.min_relevance
    is_judged = has_vector and relevance.is_calibrated(index.profile.model_identity)
    return UNRELATED if is_judged else 0.0


def _embed(
    index: SearchedIndex, request: RecallRequest
) -> tuple[Sequence[float] | None, tuple[str, ...]]:
    if not request.query or request.mode == "lexical":
        return None, ()
    try:
        return embed_question(index, request.query), ()
    except IngestError as error:  # search by words alone
        return None, (f"facts_by_words: {error.code}",)


def _candidates(
    index: SearchedIndex,
    facts: Any,
    vector: Sequence[float] | None,
    terms: Sequence[Term],
    request: RecallRequest,
) -> list[Candidate]:
    """Return the best of both legs with the scores of both. Inside namespace()."""
    near = _similarities(index, vector, facts) if vector is not None else {}
    wordy: dict[uuid.UUID, float] = {}
    if terms and (request.mode != "semantic" or vector is None):
        matching = scored(holding_any(facts, terms), terms)
        best = matching.order_by("-lexical", "pk").values_list("pk", "lexical")[:CANDIDATES]
        wordy = dict(best)
    ids = {*near, *wordy}
    if vector is not None and (unknown := ids - set(near)):
        near |= _similarities(index, vector, Fact.objects.filter(pk__in=unknown))
    if wordy and (unread := ids - set(wordy)):
        rest = scored(Fact.objects.filter(pk__in=unread), terms)
        wordy |= dict(rest.values_list("pk", "lexical"))
    return [
        Candidate(id_, id_, similarity=near.get(id_), lexical=wordy.get(id_)) for id_ in sorted(ids)
    ]


def _similarities(
    index: SearchedIndex, vector: Sequence[float], facts: Any
) -> dict[uuid.UUID, float]:
    """Compare all vectors of this profile, exactly: memory is small compared to documents."""
    vectors = FactVector.objects.filter(
        namespace=index.namespace_id, profile=index.profile.pk, fact__in=facts.values("pk")
    )
    nearest = vectors.annotate(distance=CosineDistance("embedding", list(vector)))
    rows = nearest.order_by("distance", "fact").values_list("fact", "distance")[:CANDIDATES]
    return {fact_id: 1 - distance for fact_id, distance in rows}


def _everything(facts: Any) -> list[Candidate]:
    newest = facts.order_by("-certainty", "-last_verified_at", "pk")
    return [Candidate(id_, id_, relevance=1.0) for id_ in newest.values_list("pk", flat=True)[:500]]


def _read(facts: Any, candidates: Sequence[Candidate]) -> Any:
    listed = facts.filter(pk__in=[candidate.chunk_id for candidate in candidates])
    return listed.select_related("document", "version").defer("words", "version__text")


def _weighed(fact: Fact, candidate: Candidate, rule: ValueRule, moment: datetime) -> Recalled:
    age = max(0.0, (moment - fact.last_verified_at).total_seconds() / SECONDS_OF_A_DAY)
    relevant = candidate.relevance
    if relevant is None:  # a model whose similarities are not calibrated, and no words
        relevant = max(0.0, candidate.similarity or 0.0)
    return Recalled(
        fact=fact,
        relevance=relevant,
        decay=decay(age, rule.half_life_days),
        age_days=round(age, 3),
        half_life_days=rule.half_life_days,
        vector=candidate.similarity,
        lexical=candidate.lexical,
    )


def _each_once(ranked: Sequence[Recalled]) -> list[Recalled]:
    """Merge identical facts: rows of several tables, and statements with the content of a row."""
    firsts: dict[tuple[str, ...], Recalled] = {}
    for hit in ranked:
        fact = hit.fact
        key = (fact.user, fact.subject_key, fact.predicate_key, fact.object_key)
        first = firsts.get(key)
        firsts[key] = replace(first, copies=(*first.copies, fact.pk)) if first else hit
    return list(firsts.values())


def explained(hit: Recalled) -> Mapping[str, Any]:
    """Return the factors of a fact's score."""
    return {
        "fact_id": str(hit.fact.pk),
        "score": round(hit.score, 6),
        "relevance": hit.relevance,
        "certainty": hit.fact.certainty,
        "decay": round(hit.decay, 6),
        "age_days": hit.age_days,
        "half_life_days": hit.half_life_days,
        "vector": hit.vector,
        "lexical": hit.lexical,
    }
