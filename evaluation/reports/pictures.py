"""The charts of a run or a comparison, from stored rows. Inside namespace() or operator()."""

from collections.abc import Callable, Mapping

from evaluation.measures import metrics
from evaluation.models import EvaluationRun
from evaluation.runs.comparison import Comparison

from . import charts
from .charts import PictureFormat, Point

OVER_TIME = ("ndcg@10", metrics.ANSWER, "mrr@10", "recall@10")
MAX_RUNS = 100  # shown in the chart over time

Draw = Callable[[PictureFormat], bytes]


def named(run: EvaluationRun, *, fallback: str = "") -> str:
    return run.label or fallback or str(run.pk)[:8]


def of_run(run: EvaluationRun) -> dict[str, Draw]:
    """Return charts by name: recall, latency, time."""
    return {
        "recall": lambda kind: charts.recall_curve({named(run): _means(run)}, kind=kind),
        "latency": lambda kind: charts.latency_histogram({named(run): times_of(run)}, kind=kind),
        "time": lambda kind: charts.over_time(history_of(run), marked=run.created_at, kind=kind),
    }


def of_comparison(comparison: Comparison) -> dict[str, Draw]:
    """Return charts by name: gains, recall, latency."""
    a, b = comparison.a, comparison.b
    names = {f"a: {named(a)}": a, f"b: {named(b)}": b}
    changed = [change.gain for change in (*comparison.wins, *comparison.losses)]
    return {
        "gains": lambda kind: charts.gains(
            [*changed, *[0.0] * comparison.ties], comparison.measure, kind=kind
        ),
        "recall": lambda kind: charts.recall_curve(
            {label: _means(run) for label, run in names.items()}, kind=kind
        ),
        "latency": lambda kind: charts.latency_histogram(
            {label: times_of(run) for label, run in names.items()}, kind=kind
        ),
    }


def _means(run: EvaluationRun) -> dict[str, float]:
    return {name: figures["mean"] for name, figures in run.metrics.items()}


def times_of(run: EvaluationRun) -> list[float]:
    """In milliseconds; the numbers alone, because a run may have many thousand queries."""
    times = run.scores.values_list("times_ms__total", flat=True)
    return [time for time in times if time is not None]


def history_of(run: EvaluationRun) -> dict[str, list[Point]]:
    runs = EvaluationRun.objects.filter(
        golden_set=run.golden_set_id, state=EvaluationRun.State.SUCCEEDED
    )
    newest = list(runs.order_by("-created_at")[:MAX_RUNS])[::-1]
    history = {
        name: [_point(r, r.metrics[name]) for r in newest if name in r.metrics]
        for name in OVER_TIME
    }
    return {name: points for name, points in history.items() if points}


def _point(run: EvaluationRun, figures: Mapping[str, float]) -> Point:
    return Point(run.created_at, figures["mean"], figures["low"], figures["high"])
