"""Questions and their times over a period, as the shapes of an inline SVG without scripts."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from .figures import Period, QuestionCount

WIDTH, HEIGHT = 720, 190
LEFT, RIGHT, TOP, BOTTOM = 44, 48, 12, 22
GAP = 2.0  # between bars

Line = list[tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Shape:
    """A bar of questions, and their times; hovering shows the label."""

    x: float
    y: float
    width: float
    height: float
    label: str


@dataclass(frozen=True, slots=True)
class ChartMark:
    x: float
    y: float
    text: str


@dataclass(frozen=True, slots=True)
class QuestionsChart:
    width: int
    height: int
    bars: list[Shape]
    p50: list[str]  # points of unbroken lines
    p95: list[str]
    dots: list[ChartMark]  # values without neighbours, drawn as points
    hours: list[ChartMark]
    counts: list[ChartMark]
    times: list[ChartMark]
    lines: list[float]  # height of the grid
    left: int
    right: int


def drawn(asked: Sequence[QuestionCount], period: Period) -> QuestionsChart:
    most = _rounded_up(max((each.count for each in asked), default=0))
    slowest = _rounded_up(max((each.p95 or 0.0 for each in asked), default=0.0))
    step = (WIDTH - LEFT - RIGHT) / len(asked)
    p50 = _lines([each.p50 for each in asked], slowest, step)
    p95 = _lines([each.p95 for each in asked], slowest, step)
    right = WIDTH - RIGHT
    return QuestionsChart(
        WIDTH,
        HEIGHT,
        [_bar(each, number, most, step, period) for number, each in enumerate(asked)],
        _points(p50),
        _points(p95),
        [*_single_points(p50, "p50"), *_single_points(p95, "p95")],
        _times_of_day(asked, period, step),
        [ChartMark(LEFT - 6, _y(part) + 4, f"{most * part:,.0f}") for part in (0.0, 0.5, 1.0)],
        [ChartMark(right + 6, _y(part) + 4, _ms(slowest * part)) for part in (0.5, 1.0)],
        [_y(part) for part in (0.0, 0.5, 1.0)],
        LEFT,
        right,
    )


def _y(part: float) -> float:
    """Return the height of a fraction of the scale, from the top."""
    return round(HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * part, 1)


def _bar(each: QuestionCount, number: int, most: float, step: float, period: Period) -> Shape:
    y = _y(each.count / most)
    x = round(LEFT + number * step + GAP / 2, 1)
    return Shape(x, y, round(step - GAP, 1), round(_y(0.0) - y, 1), _label(each, period))


def _lines(values: Sequence[float | None], slowest: float, step: float) -> list[Line]:
    """Return unbroken lines: a line ends where there is no value."""
    lines: list[Line] = [[]]
    for number, value in enumerate(values):
        if value is None:
            lines.append([])
        else:
            lines[-1].append((round(LEFT + (number + 0.5) * step, 1), _y(value / slowest)))
    return [line for line in lines if line]


def _single_points(lines: Sequence[Line], kind: str) -> list[ChartMark]:
    return [ChartMark(*line[0], kind) for line in lines if len(line) == 1]


def _points(lines: Sequence[Line]) -> list[str]:
    return [" ".join(f"{x},{y}" for x, y in line) for line in lines if len(line) > 1]


def _label(each: QuestionCount, period: Period) -> str:
    start = (
        each.start.strftime("%d %b %H:%M" if _is_hourly(period) else "%d %b") if each.start else ""
    )
    times = f", p50 {_ms(each.p50)}, p95 {_ms(each.p95)}" if each.p50 is not None else ""
    return f"{start}: {each.count:,} questions{times}"


def _times_of_day(asked: Sequence[QuestionCount], period: Period, step: float) -> list[ChartMark]:
    form, every = ("%H:%M", 4) if _is_hourly(period) else ("%d %b", 2)
    return [
        ChartMark(round(LEFT + (number + 0.5) * step, 1), HEIGHT - 6, each.start.strftime(form))
        for number, each in enumerate(asked)
        if each.start and number % every == 0
    ]


def _is_hourly(period: Period) -> bool:
    return period.step < timedelta(days=1)


def _ms(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:,.0f} ms" if value < 1000 else f"{value / 1000:,.1f} s"


def _rounded_up(value: float) -> float:
    """Return the next of 2, 4, 6, 10, 20, 40, …, whose half is a round number, too."""
    scale = 1.0
    while True:
        for factor in (2, 4, 6):
            if value <= factor * scale:
                return factor * scale
        scale *= 10
