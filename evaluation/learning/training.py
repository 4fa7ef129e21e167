"""Train the reranker `learned`, and measure it on questions that it was not trained on."""

import hashlib
import json
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from django.conf import settings

from evaluation.errors import NothingToMeasure
from evaluation.golden.curating import read_filters
from evaluation.measures import metrics
from evaluation.measures.matching import (
    Judged,
    RankedPassage,
    RankingUnit,
    as_qrels,
    as_run,
    meets,
    units_of,
)
from evaluation.models import GoldenSet
from evaluation.runs.runner import ProgressCallback, prepare
from ragsite.database.tenancy import namespace
from retrieval.context.rerank_passages import RankedChunk
from retrieval.requests import Filters, SearchRequest
from retrieval.rerankers.linear import LinearModel, features_of
from retrieval.search import prepare as normalised
from retrieval.search import search_until_rerank

from .examples import Example, feedback_examples
from .fitting import PairedRows, fit

MEASURE = "ndcg@10"
FOLDS, INNER_FOLDS = 5, 3
PENALTIES = (0.003, 0.03, 0.3, 3.0)
MIN_QUESTIONS = 20  # with fewer questions, no difference would be significant
SIGNIFICANCE = 0.05


@dataclass(frozen=True, slots=True)
class TrainingQuestion:
    """A question with the passages that a reranker would be given, in their fused order."""

    text: str
    group: PairedRows
    judged: tuple[Judged, ...]
    places: tuple[RankedPassage, ...]
    is_measured: bool  # False for feedback, where unselected passages may be right, too

    @property
    def fold_key(self) -> int:
        return fold_key(self.text)


@dataclass(frozen=True, slots=True)
class Trained:
    model: LinearModel
    metrics: dict[str, Any]
    training: dict[str, Any]

    @property
    def is_better(self) -> bool:
        return bool(
            self.metrics["gain"] > 0
            and self.metrics["low"] > 0
            and self.metrics["p_value"] < SIGNIFICANCE
        )


def fold_key(question: str) -> int:
    """Return the fold, derived from the text, so that the same question is never both trained on
    and held out."""
    digest = hashlib.sha256(" ".join(question.casefold().split()).encode(errors="replace"))
    return int.from_bytes(digest.digest()[:8])


def train(
    golden_set: GoldenSet, *, progress: ProgressCallback = lambda done, total: None
) -> Trained:
    """Fit a model to the set and the namespace's feedback. Raises NothingToMeasure without enough
    questions whose candidates contain both right and wrong passages."""
    questions = collect(golden_set, progress=progress)
    measured = [question for question in questions if question.is_measured]
    useful = [question for question in measured if question.group.pairs]
    if len(useful) < MIN_QUESTIONS:
        raise NothingToMeasure(
            f"Only {len(useful)} questions of {golden_set.name!r} have a right and a wrong passage "
            f"among their best {settings.RERANK['top']} candidates; {MIN_QUESTIONS} are needed."
        )
    held_out = _held_out(questions)
    before = _measured(measured, [range(len(question.places)) for question in measured])
    after = _measured(measured, [held_out[id(question)] for question in measured])
    gained = metrics.difference(before, after)
    penalty = _best_penalty(questions)
    model = fit([question.group for question in questions], penalty=penalty)
    figures = {
        "measure": MEASURE,
        "questions": len(measured),
        "folds": FOLDS,
        "fused": _mean(before),
        "learned": _mean(after),
        **asdict(gained),
        "better": sum(new > old for old, new in zip(before, after, strict=True)),
        "worse": sum(new < old for old, new in zip(before, after, strict=True)),
    }
    training = {
        "golden_set": golden_set.name,
        "questions": len(measured),
        "feedback_questions": len(questions) - len(measured),
        "pairs": sum(len(question.group.pairs) for question in questions),
        "penalty": penalty,
        "candidates": settings.RERANK["top"],
        "sha256": _hash(questions),
    }
    rounded = {k: round(v, 6) if isinstance(v, float) else v for k, v in figures.items()}
    return Trained(model, rounded, training)


def collect(
    golden_set: GoldenSet, *, progress: ProgressCallback = lambda done, total: None
) -> list[TrainingQuestion]:
    """Return every judged question of the set, and every question with useful feedback, with its
    candidates. Searches without caches; makes no change."""
    namespace_id = golden_set.namespace_id
    with namespace(namespace_id):
        queries = list(golden_set.queries.prefetch_related("judgements"))
        examples = list(feedback_examples(namespace_id))
    prepared, _ = prepare(namespace_id, queries)
    with namespace(namespace_id):
        filters = [read_filters(example.filters) for example in examples]
    total = len(prepared) + len(examples)
    found = []
    for done, question in enumerate(prepared, start=1):
        chunks = _candidates(namespace_id, question.text, question.filters)
        found.append(_judged_question(question.text, chunks, question.judged))
        progress(done, total)
    for done, (example, wanted) in enumerate(zip(examples, filters, strict=True), len(found) + 1):
        chunks = _candidates(namespace_id, example.question, wanted)
        found.append(_feedback_question(example, chunks))
        progress(done, total)
    return sorted(found, key=lambda question: (question.fold_key, question.is_measured))


def _candidates(namespace_id: uuid.UUID, text: str, filters: Filters) -> list[RankedChunk]:
    return search_until_rerank(namespace_id, SearchRequest(query=text, filters=filters))


def _judged_question(
    text: str, chunks: Sequence[RankedChunk], judged: tuple[Judged, ...]
) -> TrainingQuestion:
    places = [_place(chunk) for chunk in chunks]
    grades: list[int | None] = [_grade(place, judged) or 0 for place in places]
    return _question(text, chunks, grades, judged, is_measured=True)


def _feedback_question(example: Example, chunks: Sequence[RankedChunk]) -> TrainingQuestion:
    """Compare only passages that were selected, rejected or passed over."""
    judged = tuple(
        Judged(str(number), p.source_uri, p.grade, p.start, p.end, quote=p.text)
        for number, p in enumerate([*example.positives, *example.negatives])
    )
    grades = [_grade(_place(chunk), judged) for chunk in chunks]
    return _question(example.question, chunks, grades, judged, is_measured=False)


def _question(
    text: str,
    chunks: Sequence[RankedChunk],
    grades: Sequence[int | None],
    judged: tuple[Judged, ...],
    *,
    is_measured: bool,
) -> TrainingQuestion:
    known = [(number, grade) for number, grade in enumerate(grades) if grade is not None]
    pairs = [(a, b) for a, high in known for b, low in known if high > low]
    rows = features_of(normalised(text), [chunk.passage for chunk in chunks])
    places = tuple(_place(chunk) for chunk in chunks)
    return TrainingQuestion(text, PairedRows(rows, pairs), judged, places, is_measured)


def _place(chunk: RankedChunk) -> RankedPassage:
    return RankedPassage(chunk.source_uri, chunk.start, chunk.end)


def _grade(place: RankedPassage, judged: Sequence[Judged]) -> int | None:
    return max((each.grade for each in judged if meets(place, each)), default=None)


def _held_out(questions: Sequence[TrainingQuestion]) -> Mapping[int, Sequence[int]]:
    """Return each question's order by a model that was trained without its fold."""
    orders: dict[int, Sequence[int]] = {}
    for fold in range(FOLDS):
        inside = [q for q in questions if q.fold_key % FOLDS != fold]
        model = fit([q.group for q in inside], penalty=_best_penalty(inside))
        for question in questions:
            if question.fold_key % FOLDS == fold:
                orders[id(question)] = _order(model, question)
    return orders


def _best_penalty(questions: Sequence[TrainingQuestion]) -> float:
    """Choose the penalty by cross-validation among these questions alone; among equals the
    strongest."""
    means = {}
    for penalty in PENALTIES:
        scores: list[float] = []
        for fold in range(INNER_FOLDS):
            # Other digits of the key than those of the outer folds.
            held = [q for q in questions if q.fold_key // FOLDS % INNER_FOLDS == fold]
            held = [q for q in held if q.is_measured]
            inside = [q.group for q in questions if q.fold_key // FOLDS % INNER_FOLDS != fold]
            if held and any(group.pairs for group in inside):
                model = fit(inside, penalty=penalty)
                scores += _measured(held, [_order(model, question) for question in held])
        means[penalty] = _mean(scores)
    return max(PENALTIES, key=lambda penalty: (means[penalty], penalty))


def _order(model: LinearModel, question: TrainingQuestion) -> list[int]:
    scores = model.scores(question.group.rows)
    return sorted(range(len(scores)), key=lambda number: (-scores[number], number))


def _measured(
    questions: Sequence[TrainingQuestion], orders: Sequence[Sequence[int]]
) -> list[float]:
    units = {
        str(number): _units(question, order)
        for number, (question, order) in enumerate(zip(questions, orders, strict=True))
    }
    qrels = {str(number): as_qrels(question.judged) for number, question in enumerate(questions)}
    runs = {name: as_run(found) for name, found in units.items()}
    scores = metrics.measure(qrels, runs, [MEASURE])
    return [scores[str(number)][MEASURE] for number in range(len(questions))]


def _units(question: TrainingQuestion, order: Sequence[int]) -> list[RankingUnit]:
    return units_of([question.places[number] for number in order], question.judged)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def _hash(questions: Sequence[TrainingQuestion]) -> str:
    """Hash the judgements, not the features, which change daily."""
    judged = [
        [question.text, sorted(asdict(replace(j, name="")).items()), question.is_measured]
        for question in questions
        for j in question.judged
    ]
    text = json.dumps(sorted(judged, key=str), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()
