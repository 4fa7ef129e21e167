"""Charts as inline SVG with the colours of the page, so that they suit light and dark mode. Only
positions are computed here; templates/admin/evaluation/chart.html draws them. Report files
(`manage.py evaluation_report`) have their own charts, evaluation/reports/charts.py."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from evaluation.measures.metrics import CURVE
from evaluation.models import EvaluationRun
from evaluation.reports import pictures
from evaluation.reports.charts import Point
from evaluation.runs.comparison import Comparison

LEFT, RIGHT, TOP, BOTTOM = 40.0, 470.0, 12.0, 190.0
BINS = 20
SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)


@dataclass(frozen=True, slots=True)
class Mark:
    """A point or a bar, with its tooltip."""

    x: float
    y: float
    title: str
    width: float = 0.0
    height: float = 0.0


@dataclass(frozen=True, slots=True)
class Series:
    label: str
    number: int  # decides its colour
    marks: tuple[Mark, ...]
    is_line: bool = True
    band: str = ""  # the outline of its interval

    @property
    def path(self) -> str:
        return " ".join(f"{mark.x:.1f},{mark.y:.1f}" for mark in self.marks)


@dataclass(frozen=True, slots=True)
class Tick:
    at: float
    label: str


@dataclass(frozen=True, slots=True)
class Chart:
    title: str
    across: str
    series: tuple[Series, ...]
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    marked: float | None = None
    zero: float | None = None
    is_named: bool = field(default=True)  # whether it needs a legend


def of_run(run: EvaluationRun) -> list[Chart]:
    label = pictures.named(run)
    charts = [
        _recall({label: _means(run)}),
        _latency({label: pictures.times_of(run)}),
        _history(pictures.history_of(run), run),
    ]
    return [chart for chart in charts if any(series.marks for series in chart.series)]


def of_comparison(comparison: Comparison) -> list[Chart]:
    runs = {"a": comparison.a, "b": comparison.b}
    charts = [
        _gains([change.gain for change in (*comparison.wins, *comparison.losses)]),
        _recall({name: _means(run) for name, run in runs.items()}),
        _latency({name: pictures.times_of(run) for name, run in runs.items()}),
    ]
    return [chart for chart in charts if any(series.marks for series in chart.series)]


def _means(run: EvaluationRun) -> dict[str, float]:
    return {name: figures["mean"] for name, figures in run.metrics.items()}


def _share_ticks() -> tuple[Tick, ...]:
    return tuple(Tick(_up(share), f"{share:g}") for share in SHARES)


def _up(share: float) -> float:
    """Return the height of a value from 0 to 1."""
    return round(BOTTOM - (BOTTOM - TOP) * share, 1)


def _across(share: float) -> float:
    return round(LEFT + (RIGHT - LEFT) * share, 1)


def _recall(runs: Mapping[str, Mapping[str, float]]) -> Chart:
    widest = math.log(max(CURVE))

    def place(k: int) -> float:
        return _across(math.log(k) / widest)

    series = tuple(
        Series(
            label,
            number,
            tuple(
                Mark(place(k), _up(means[f"recall@{k}"]), f"recall@{k}: {means[f'recall@{k}']:.3f}")
                for k in CURVE
                if f"recall@{k}" in means
            ),
        )
        for number, (label, means) in enumerate(runs.items())
    )
    ticks = tuple(Tick(place(k), str(k)) for k in (1, 2, 5, 10, 20, 50, 100) if k <= max(CURVE))
    return Chart("Recall at k", "k", series, ticks, _share_ticks(), is_named=len(runs) > 1)


def _latency(runs: Mapping[str, Sequence[float]]) -> Chart:
    longest = max((max(times, default=0.0) for times in runs.values()), default=0.0) or 1.0
    counts = {label: _binned(times, longest) for label, times in runs.items()}
    most = max((max(bins, default=0) for bins in counts.values()), default=0) or 1
    step = (RIGHT - LEFT) / BINS
    wide = step * 0.9 / max(1, len(runs))
    series = tuple(
        Series(
            label,
            number,
            tuple(
                Mark(
                    round(LEFT + place * step + number * wide, 1),
                    _up(count / most),
                    f"{longest * place / BINS:.0f}–{longest * (place + 1) / BINS:.0f} ms: {count}",
                    width=round(wide, 1),
                    height=round(BOTTOM - _up(count / most), 1),
                )
                for place, count in enumerate(bins)
                if count
            ),
            is_line=False,
        )
        for number, (label, bins) in enumerate(counts.items())
    )
    across = tuple(Tick(_across(s), f"{longest * s:.0f}") for s in SHARES)
    up = (Tick(BOTTOM, "0"), Tick(TOP, str(most)))
    return Chart("Queries by latency", "milliseconds", series, across, up, is_named=len(runs) > 1)


def _binned(times: Iterable[float], longest: float) -> list[int]:
    bins = [0] * BINS
    for time in times:
        bins[min(BINS - 1, int(time / longest * BINS))] += 1
    return bins


def _history(measures: Mapping[str, Sequence[Point]], run: EvaluationRun) -> Chart:
    """Runs are evenly spaced, because several runs of one afternoon would coincide."""
    moments = sorted({point.at for points in measures.values() for point in points})
    spread = max(1, len(moments) - 1)
    places = {at: _across(number / spread) for number, at in enumerate(moments)}
    series = tuple(
        Series(
            name,
            number,
            tuple(
                Mark(places[p.at], _up(p.mean), f"{name} {p.mean:.3f}, {p.at:%Y-%m-%d %H:%M}")
                for p in points
            ),
            band=_band(points, places),
        )
        for number, (name, points) in enumerate(measures.items())
    )
    shown = moments[:: max(1, len(moments) // 4)] if moments else []
    ticks = tuple(Tick(places[at], f"{at:%d %b}") for at in shown)
    marked = places.get(run.created_at)
    return Chart("Runs of this set over time", "", series, ticks, _share_ticks(), marked=marked)


def _band(points: Sequence[Point], places: Mapping[datetime, float]) -> str:
    if len(points) < 2:
        return ""
    edge = [(places[p.at], _up(p.high)) for p in points]
    edge += [(places[p.at], _up(p.low)) for p in reversed(points)]
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in edge)


def _gains(gains: Sequence[float]) -> Chart:
    ordered = sorted(gains, reverse=True)
    most = max((abs(gain) for gain in ordered), default=1.0) or 1.0
    step = (RIGHT - LEFT) / max(1, len(ordered))
    wide = min(step * 0.8, 40.0)

    def up(gain: float) -> float:
        return _up((gain / most + 1) / 2)

    def bars(wanted: bool) -> tuple[Mark, ...]:
        return tuple(
            Mark(
                round(LEFT + place * step, 1),
                min(up(gain), up(0)),
                f"{gain:+.3f}",
                width=round(wide, 1),
                height=max(1.0, round(abs(up(gain) - up(0)), 1)),
            )
            for place, gain in enumerate(ordered)
            if (gain > 0) is wanted
        )

    series = (
        Series("better", 2, bars(True), is_line=False),
        Series("worse", 5, bars(False), is_line=False),
    )
    ticks = (Tick(up(most), f"+{most:.2f}"), Tick(up(0), "0"), Tick(up(-most), f"−{most:.2f}"))
    return Chart("Changed queries, b − a", "sorted", series, (), ticks, zero=up(0))
