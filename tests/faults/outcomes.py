"""What a fault has done, as one line, and whether that is good enough."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from .ledger import Verdict


class NotPossibleHere(Exception):
    """This machine does not allow the fault; the message says what it lacks."""


@dataclass
class Outcome:
    """The figures of one fault. `wrong` counts answers that break a promise of their own: a 500, an
    empty or mixed result, a duplicate. `findings` are those of `manage.py verify` afterwards."""

    trials: int = 0
    lost: int = 0
    leaked: int = 0
    stuck: int = 0
    wrong: int = 0
    findings: int = 0
    recovery: list[float] = field(default_factory=list)
    figures: dict[str, Any] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)
    impossible: str = ""

    @property
    def is_good(self) -> bool:
        return not (self.lost or self.leaked or self.stuck or self.wrong or self.findings)

    def add(self, verdict: Verdict) -> None:
        self.lost += len(verdict.lost)
        self.leaked += len(verdict.leaked)
        self.stuck += len(verdict.stuck)
        for kind in ("lost", "leaked", "stuck"):
            self.remarks += [f"{kind}: {entry}" for entry in getattr(verdict, kind)[:3]]

    def require(self, holds: bool, otherwise: str) -> None:
        """Count a broken promise, with what there was instead."""
        if not holds:
            self.wrong += 1
            self.remarks.append(f"wrong: {otherwise}")

    def leak(self, count: int, what: str) -> None:
        if count:
            self.leaked += count
            self.remarks.append(f"leaked: {count} {what}")


@dataclass(frozen=True)
class Fault:
    code: str
    title: str
    trials: int
    play: Callable[[Any, Outcome], None]  # gets the theatre; fills the outcome
    needs_own_stage: bool = False


FAULTS: dict[str, Fault] = {}


def fault(
    code: str, title: str, *, trials: int = 1, own_stage: bool = False
) -> Callable[[Callable[[Any, Outcome], None]], Callable[[Any, Outcome], None]]:
    """Register a function as the trial of a fault. It finds the number of trials in the outcome."""

    def register(play: Callable[[Any, Outcome], None]) -> Callable[[Any, Outcome], None]:
        FAULTS[code] = Fault(code, title, trials, play, own_stage)
        return play

    return register


HEADINGS = ("fault", "trials", "lost", "leaked", "stuck", "wrong", "audit", "recovery", "")
WIDTHS = (6, 6, 5, 6, 5, 5, 5, 9, 0)


def heading() -> str:
    return _columns(HEADINGS)


def line(code: str, title: str, outcome: Outcome) -> str:
    if outcome.impossible:
        return f"{code:<7}not possible here: {outcome.impossible} ({title})"
    recovery = f"{max(outcome.recovery):.1f} s" if outcome.recovery else "-"
    figures = ", ".join(f"{name} {value}" for name, value in outcome.figures.items())
    cells = (code, outcome.trials, outcome.lost, outcome.leaked, outcome.stuck, outcome.wrong,
             outcome.findings, recovery, f"{title}: {figures}" if figures else title)  # fmt: skip
    return _columns(cells)


def exit_code(outcomes: Sequence[Outcome]) -> int:
    return 0 if all(outcome.is_good for outcome in outcomes) else 1


def _columns(cells: Sequence[Any]) -> str:
    first, *numbers, last = cells
    numbers = [f"{cell!s:>{width}}" for cell, width in zip(numbers, WIDTHS[1:], strict=False)]
    return f"{first:<{WIDTHS[0]}} {' '.join(numbers)}  {last}".rstrip()


def p95(values: Sequence[float]) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * 0.95))] if ordered else 0.0
