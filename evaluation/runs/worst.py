"""List a run's worst questions: what was expected and what was found instead."""

import uuid
from dataclasses import dataclass
from typing import Any

from documents.models import Document
from evaluation.models import EvaluationRun, Judgement, QueryScore

from .comparison import MEASURE

SHOWN = 3  # results shown per question


@dataclass(frozen=True, slots=True)
class WorstQuestion:
    text: str
    score: float
    expected: list[str]  # each with its rank, or the reason for having none
    instead: list[str]  # the first results, if unexpected


def worst_questions(
    run: EvaluationRun, *, limit: int, measure: str = MEASURE
) -> list[WorstQuestion]:
    """Return questions with a score below 1, worst first. Inside namespace() or operator()."""
    scores = [s for s in run.scores.all() if s.metrics.get(measure, 1.0) < 1.0]
    scores = sorted(scores, key=lambda s: (s.metrics[measure], s.ordinal))[:limit]
    judgements = Judgement.objects.in_bulk(
        [uuid.UUID(row["judgement"]) for score in scores for row in score.judged]
    )
    sources = dict(
        Document.objects.filter(
            pk__in=[uuid.UUID(hit["document_id"]) for s in scores for hit in _unexpected(s)]
        ).values_list("pk", "source_uri")
    )
    return [
        WorstQuestion(
            text=score.text,
            score=score.metrics[measure],
            expected=[
                _expected(row, judgements.get(uuid.UUID(row["judgement"])))
                for row in score.judged
                if row["grade"] > 0
            ],
            instead=[_came(hit, sources) for hit in _unexpected(score)],
        )
        for score in scores
    ]


def _unexpected(score: QueryScore) -> list[dict[str, Any]]:
    return [hit for hit in score.ranking if not hit["grade"]][:SHOWN]


def _expected(row: dict[str, Any], judgement: Judgement | None) -> str:
    place = f"rank {row['rank']}" if row["rank"] else row["fate"] or "not found"
    if judgement is None:
        return f"(deleted): {place}"
    quote = f" “{' '.join(judgement.quote.split())[:80]}”" if judgement.quote else ""
    return f"{judgement.source_uri}{quote}: {place}"


def _came(hit: dict[str, Any], sources: dict[uuid.UUID, str]) -> str:
    source = sources.get(uuid.UUID(hit["document_id"]), "(deleted)")
    return f"{source} [{hit['start']}:{hit['end']}]"
