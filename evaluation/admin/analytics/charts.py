"""The charts of the page: inline SVG with the page's colours, as in evaluation/admin/charts.py."""

from collections.abc import Callable, Sequence

from evaluation.admin.charts import (
    BOTTOM,
    LEFT,
    RIGHT,
    TOP,
    Chart,
    Mark,
    Series,
    Tick,
)

from .figures import DayFigures

SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)
PARTS = (0.0, 0.5, 1.0)


def drawn(days: Sequence[DayFigures]) -> list[Chart]:
    """Draw the numbers of questions, shares of poor results, and times; nothing without
    questions."""
    if not any(day.questions for day in days):
        return []
    return [_questions(days), _shares(days), _times(days)]


def _questions(days: Sequence[DayFigures]) -> Chart:
    most = max(day.questions for day in days)
    step = (RIGHT - LEFT) / len(days)
    marks = tuple(
        Mark(
            round(LEFT + number * step, 1),
            _height(day.questions / most),
            f"{_date(day)}: {day.questions:,} questions",
            width=round(step * 0.85, 1),
            height=round(BOTTOM - _height(day.questions / most), 1),
        )
        for number, day in enumerate(days)
        if day.questions
    )
    ticks = tuple(Tick(_height(part), f"{most * part:,.0f}") for part in (0.0, 1.0))
    bars = Series("questions", 0, marks, is_line=False)
    return Chart("Questions by day", "", (bars,), _dates(days), ticks, is_named=False)


def _shares(days: Sequence[DayFigures]) -> Chart:
    kinds: tuple[tuple[str, int, Callable[[DayFigures], int]], ...] = (
        ("without results", 5, lambda day: day.empty),
        ("low relevance", 3, lambda day: day.low),
        ("with feedback", 2, lambda day: day.with_feedback),
    )
    series = tuple(
        Series(
            label,
            colour,
            tuple(
                Mark(
                    _middle(number, days),
                    _height(day.share(part(day))),
                    f"{_date(day)}: {part(day):,} of {day.questions:,} {label}",
                )
                for number, day in enumerate(days)
                if day.questions
            ),
        )
        for label, colour, part in kinds
    )
    ticks = tuple(Tick(_height(share), f"{share:.0%}") for share in SHARES)
    return Chart("Shares of the questions", "", series, _dates(days), ticks)


def _times(days: Sequence[DayFigures]) -> Chart:
    slowest = max((day.p99 or 0.0 for day in days), default=0.0) or 1.0
    kinds: tuple[tuple[str, int, Callable[[DayFigures], float | None]], ...] = (
        ("p50", 0, lambda day: day.p50),
        ("p95", 3, lambda day: day.p95),
        ("p99", 5, lambda day: day.p99),
    )
    series = tuple(
        Series(
            label,
            colour,
            tuple(
                Mark(
                    _middle(number, days),
                    _height(value / slowest),
                    f"{_date(day)}: {label} {value:,.0f} ms",
                )
                for number, day in enumerate(days)
                if (value := of(day)) is not None
            ),
        )
        for label, colour, of in kinds
    )
    ticks = tuple(Tick(_height(part), f"{slowest * part:,.0f}") for part in PARTS)
    return Chart("Milliseconds", "", series, _dates(days), ticks)


def _height(share: float) -> float:
    return round(BOTTOM - (BOTTOM - TOP) * share, 1)


def _middle(number: int, days: Sequence[DayFigures]) -> float:
    return round(LEFT + (number + 0.5) * (RIGHT - LEFT) / len(days), 1)


def _dates(days: Sequence[DayFigures]) -> tuple[Tick, ...]:
    every = max(1, len(days) // 5)
    return tuple(
        Tick(_middle(number, days), _date(day))
        for number, day in enumerate(days)
        if number % every == every // 2
    )


def _date(day: DayFigures) -> str:
    return f"{day.start:%d %b}" if day.start else ""
