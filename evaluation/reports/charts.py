"""Draw charts as SVG or PNG, so that pages load nothing from elsewhere. Plain Python.

matplotlib is imported inside functions, so that web processes do not load it at start.
"""

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from evaluation.measures.metrics import CURVE

PictureFormat = Literal["svg", "png"]
COLOURS = ("#1f5f8b", "#d9822b", "#3d8b40", "#8b3d6f", "#6b6b6b")
GAIN, LOSS = "#3d8b40", "#b3392f"
BINS = 24


@dataclass(frozen=True, slots=True)
class Point:
    """The mean of one run, and when it was measured."""

    at: datetime
    mean: float
    low: float
    high: float


def recall_curve(runs: Mapping[str, Mapping[str, float]], *, kind: PictureFormat = "svg") -> bytes:
    """Plot the mean of each recall@k, one line per run."""
    figure, axes = _canvas("Recall at k", "k (logarithmic)", "recall")
    for colour, (label, means) in zip(COLOURS, runs.items(), strict=False):
        points = [(k, means[f"recall@{k}"]) for k in CURVE if f"recall@{k}" in means]
        axes.plot(*zip(*points, strict=True), marker="o", color=colour, label=label)
    axes.set_xscale("log")
    ticks = [1, 2, 5, 10, 20, 50, 100]
    axes.set_xticks(ticks, [str(k) for k in ticks])
    axes.minorticks_off()
    axes.set_ylim(0, 1.02)
    axes.legend(loc="lower right")
    return _drawn(figure, kind)


def over_time(
    measures: Mapping[str, Sequence[Point]],
    *,
    marked: datetime | None = None,
    kind: PictureFormat = "svg",
) -> bytes:
    """Plot each measure over several runs, with intervals; `marked` is the current run."""
    figure, axes = _canvas("Runs of this set over time", "", "mean and 95 % interval")
    for colour, (name, points) in zip(COLOURS, measures.items(), strict=False):
        times = [point.at for point in points]
        axes.plot(times, [p.mean for p in points], marker="o", color=colour, label=name)
        axes.fill_between(
            times,
            [p.low for p in points],
            [p.high for p in points],
            color=colour,
            alpha=0.15,
            linewidth=0,
        )
    if marked:
        axes.axvline(marked, color="#999999", linestyle=":")
    axes.set_ylim(0, 1.02)
    axes.tick_params(axis="x", rotation=20)
    axes.legend(loc="lower left")
    return _drawn(figure, kind)


def latency_histogram(runs: Mapping[str, Sequence[float]], *, kind: PictureFormat = "svg") -> bytes:
    """Plot the latency of the queries, by run."""
    figure, axes = _canvas("Latency", "milliseconds", "queries")
    longest = max((max(times, default=0) for times in runs.values()), default=0) or 1
    edges = [longest * step / BINS for step in range(BINS + 1)]
    for colour, (label, times) in zip(COLOURS, runs.items(), strict=False):
        axes.hist(times, bins=edges, color=colour, alpha=0.55, label=label)
    axes.legend(loc="upper right")
    return _drawn(figure, kind)


def gains(changes: Sequence[float], measure: str, *, kind: PictureFormat = "svg") -> bytes:
    """Plot the gain or loss of each query, best first."""
    ordered = sorted(changes, reverse=True)
    figure, axes = _canvas("Gain of each query, b − a", "queries, sorted", measure)
    axes.bar(range(len(ordered)), ordered, color=[GAIN if g > 0 else LOSS for g in ordered])
    axes.axhline(0, color="#333333", linewidth=0.8)
    return _drawn(figure, kind)


def _canvas(title: str, across: str, up: str) -> tuple[Any, Any]:
    # not pyplot, which keeps every figure and is not thread-safe
    from matplotlib.figure import Figure

    figure: Any = Figure(figsize=(6.4, 3.6), layout="constrained")
    axes = figure.add_subplot()
    axes.set_title(title, fontsize=11)
    axes.set_xlabel(across)
    axes.set_ylabel(up)
    axes.grid(alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes


def _drawn(figure: Any, kind: PictureFormat) -> bytes:
    out = io.BytesIO()
    about = {"Date": None} if kind == "svg" else None
    figure.savefig(out, format=kind, dpi=150, metadata=about)
    return out.getvalue()
