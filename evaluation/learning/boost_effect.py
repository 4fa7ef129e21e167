"""Measure the effect of the learned boost on questions without their own feedback.

Every question belongs to one of five parts, by its text. Its passages are boosted only by the
feedback of the other four parts, so neither its own feedback nor that on the same question helps
it.
"""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from evaluation.errors import NothingToMeasure
from evaluation.golden.curating import read_filters
from evaluation.measures import metrics
from evaluation.measures.matching import Judged, RankedPassage, as_qrels, as_run, units_of
from evaluation.models import Feedback, GoldenSet
from evaluation.runs.runner import ProgressCallback, prepare
from ragsite.database.tenancy import namespace
from retrieval.cache import results
from retrieval.requests import Filters, SearchRequest, SearchResult
from retrieval.search import search

from . import votes
from .examples import feedback_examples
from .training import FOLDS, MEASURE, SIGNIFICANCE, fold_key

DEPTH = 20  # number of results that are measured
NO_BUDGET = 1_000_000  # tokens
FEEDBACK = "(feedback)"  # name of the set of questions with feedback


@dataclass(frozen=True, slots=True)
class HeldOutQuestion:
    text: str
    filters: Filters
    judged: tuple[Judged, ...]


@dataclass(frozen=True, slots=True)
class BoostEffect:
    """The measures of one set without and with the boost."""

    name: str
    measure: str
    questions: int
    boosted: int  # number of questions with a boosted passage
    without: float
    with_boost: float
    gain: float
    low: float
    high: float
    p_value: float
    better: int
    worse: int

    @property
    def loses(self) -> bool:
        """Whether it is significantly worse with the boost."""
        return self.gain < 0 and self.high < 0 and self.p_value < SIGNIFICANCE

    def as_data(self) -> dict[str, Any]:
        rounded = {k: round(v, 6) if isinstance(v, float) else v for k, v in asdict(self).items()}
        return {**rounded, "loses": self.loses}


def measure_boost(
    namespace_id: uuid.UUID,
    golden_sets: Sequence[GoldenSet],
    *,
    progress: ProgressCallback = lambda done, total: None,
) -> list[BoostEffect]:
    """Measure each set, and the questions with feedback. Searches without caches; changes nothing
    but that feedback gets its missing vectors. Raises NothingToMeasure without feedback."""
    votes.embed_questions(namespace_id)
    hidden = _by_fold(namespace_id)
    if not hidden:
        raise NothingToMeasure("There is no feedback that names a passage.")
    sets = {golden.name: _judged_questions(golden) for golden in golden_sets}
    sets[FEEDBACK] = _questions_with_feedback(namespace_id)
    total, done = sum(map(len, sets.values())), 0
    effects = []
    for name, questions in sets.items():
        runs = []
        for question in questions:
            runs.append(_both(namespace_id, question, hidden))
            done += 1
            progress(done, total)
        if questions:
            effects.append(_effect(name, questions, runs))
    return effects


def _by_fold(namespace_id: uuid.UUID) -> Mapping[int, list[uuid.UUID]]:
    """Return the feedback of each part."""
    with namespace(namespace_id):
        rows = Feedback.objects.exclude(selected_chunk_ids=[]).order_by("created_at", "id")
        found: dict[int, list[uuid.UUID]] = {}
        for pk, query in rows.values_list("pk", "query"):
            found.setdefault(fold_key(query) % FOLDS, []).append(pk)
    return found


def _judged_questions(golden_set: GoldenSet) -> list[HeldOutQuestion]:
    with namespace(golden_set.namespace_id):
        queries = list(golden_set.queries.prefetch_related("judgements"))
    prepared, _ = prepare(golden_set.namespace_id, queries)
    return [HeldOutQuestion(q.text, q.filters, q.judged) for q in prepared]


def _questions_with_feedback(namespace_id: uuid.UUID) -> list[HeldOutQuestion]:
    with namespace(namespace_id):
        return [
            HeldOutQuestion(
                example.question,
                read_filters(example.filters),
                tuple(
                    Judged(str(number), p.source_uri, p.grade, p.start, p.end, quote=p.text)
                    for number, p in enumerate(example.positives)
                ),
            )
            for example in feedback_examples(namespace_id)
        ]


def _both(
    namespace_id: uuid.UUID, question: HeldOutQuestion, hidden: Mapping[int, list[uuid.UUID]]
) -> tuple[SearchResult, SearchResult]:
    by_document = not any(judged.is_span for judged in question.judged)
    request = SearchRequest(
        query=question.text,
        k=DEPTH,
        filters=question.filters,
        max_per_document=1 if by_document else None,
        token_budget=NO_BUDGET,
    )
    boosted = replace(request, feedback_boost=True)
    own = hidden.get(fold_key(question.text) % FOLDS, ())
    with results.bypassed(), votes.without(own):
        return search(namespace_id, request), search(namespace_id, boosted)


def _effect(
    name: str,
    questions: Sequence[HeldOutQuestion],
    runs: Sequence[tuple[SearchResult, SearchResult]],
) -> BoostEffect:
    before = _scores(questions, [plain for plain, _ in runs])
    after = _scores(questions, [boosted for _, boosted in runs])
    pairs = list(zip(before, after, strict=True))
    return BoostEffect(
        name=name,
        measure=MEASURE,
        questions=len(questions),
        boosted=sum(any(hit.candidate.boost for hit in result.hits) for _, result in runs),
        without=sum(before) / len(before),
        with_boost=sum(after) / len(after),
        **asdict(metrics.difference(before, after)),
        better=sum(new > old for old, new in pairs),
        worse=sum(new < old for old, new in pairs),
    )


def _scores(questions: Sequence[HeldOutQuestion], found: Sequence[SearchResult]) -> list[float]:
    qrels, runs = {}, {}
    for number, (question, result) in enumerate(zip(questions, found, strict=True)):
        places = [RankedPassage(hit.source_uri, hit.start, hit.end) for hit in result.hits]
        qrels[str(number)] = as_qrels(question.judged)
        runs[str(number)] = as_run(units_of(places, question.judged))
    scores = metrics.measure(qrels, runs, [MEASURE])
    return [scores[str(number)][MEASURE] for number in range(len(questions))]
