"""The contents of a run's page: figures, charts, the worst queries first, the configuration."""

from collections.abc import Iterator, Mapping
from typing import Any

from django.core.paginator import Page, Paginator
from django.db.models.fields.json import KeyTransform

from evaluation.measures import metrics
from evaluation.models import EvaluationRun, QueryScore
from evaluation.reports.tables import answer_line, answer_lines, configured
from evaluation.runs import lifecycle
from evaluation.runs.comparison import MEASURE

from . import charts
from .stages import in_pipeline_order

SHOWN = (MEASURE, metrics.ANSWER, "mrr@10", "recall@10", "recall@100")
PER_PAGE = 50
OTHERS = 20  # runs offered for a comparison

HEADINGS = {
    "options": "Options",
    "answers": "Answers",
    "profile": "Index profile",
    "settings": "Settings",
    "content": "Content",
    "questions": "Questions",
}


def context_of(run: EvaluationRun, page_number: str) -> dict[str, Any]:
    page, rows = _worst_first(run, page_number)
    return {
        "run": run,
        "is_open": run.state in lifecycle.OPEN_STATES,
        "configured": configured(run),
        "sentences": list(filter(None, (answer_line(run), *answer_lines(run)))),
        "measures": [
            (name, run.metrics[name])
            for name in (*metrics.REPORTED, *metrics.OF_ANSWERS)
            if name in run.metrics
        ],
        "stages": in_pipeline_order(run.latency_ms),
        "charts": charts.of_run(run) if run.metrics else [],
        "shown": SHOWN,
        "page": page,
        "rows": rows,
        "others": _others(run),
        "configuration": list(_tables(run.configuration or {"options": run.options})),
    }


def _worst_first(run: EvaluationRun, number: str) -> tuple[Page[Any], list[dict[str, Any]]]:
    """Return a page of the queries and its rows, the worst first; unmeasured ones come last."""
    measured = KeyTransform(MEASURE, "metrics").asc(nulls_last=True)
    scores = run.scores.defer("ranking").order_by(measured, "ordinal")
    page = Paginator(scores, PER_PAGE).get_page(number)
    return page, [_row(score) for score in page]


def _row(score: QueryScore) -> dict[str, Any]:
    return {
        "text": score.text,
        "query_id": score.query_id,
        "values": [_shown(score.metrics.get(name)) for name in SHOWN],
        "is_bad": score.metrics.get(MEASURE, 1.0) < 0.5,
        "ms": score.times_ms.get("total", 0),
        "tokens": score.tokens,
        "judged": [row for row in score.judged if row["grade"]],
        "fallbacks": score.fallbacks,
    }


def _shown(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def _others(run: EvaluationRun) -> list[EvaluationRun]:
    same = EvaluationRun.objects.filter(
        golden_set=run.golden_set_id, state=EvaluationRun.State.SUCCEEDED
    )
    return list(same.exclude(pk=run.pk).order_by("-created_at")[:OTHERS])


def _tables(configuration: Mapping[str, Any]) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    # Options first, because JSON columns sort their keys by length.
    for name, values in sorted(configuration.items(), key=lambda item: _place(item[0])):
        if isinstance(values, Mapping) and values:
            yield HEADINGS.get(name, name.capitalize()), list(_flat(values))


def _place(name: str) -> int:
    names = list(HEADINGS)
    return names.index(name) if name in names else len(names)


def _flat(values: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, str]]:
    for name, value in values.items():
        label = f"{before}{name.replace('_', ' ')}"
        if isinstance(value, Mapping) and value:
            yield from _flat(value, f"{label} · ")
        else:
            yield label, _plain(value)


def _plain(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value in (None, "", [], {}):
        return "–"
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    return f"{value:,}" if isinstance(value, int) else str(value)
