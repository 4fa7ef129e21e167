"""The runner of `make faults`: broken promises reach its table and its exit code."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from . import families, outcomes, runner
from .ledger import Entry, Verdict
from .outcomes import FAULTS, Fault, NotPossibleHere, Outcome

ENTRY = Entry("acme", "1", "0" * 64, 0.0)


class Theatre(SimpleNamespace):
    dropped = False

    def drop_shared(self) -> None:
        self.dropped = True


def played(play: Callable[[Any, Outcome], None]) -> tuple[Outcome, Theatre]:
    theatre = Theatre()
    return runner.run(Fault("F0", "a fault", 3, play), theatre), theatre  # type: ignore[arg-type]


def test_a_fault_without_consequences_passes_and_the_stage_is_kept():
    outcome, theatre = played(lambda theatre, outcome: None)
    assert (outcome.trials, outcome.is_good, theatre.dropped) == (3, True, False)
    assert outcomes.exit_code([outcome]) == 0


@pytest.mark.parametrize("kind", ["lost", "leaked", "stuck"])
def test_one_lost_leaked_or_stuck_upload_fails_the_run(kind: str):
    verdict = Verdict(**{kind: [ENTRY]})
    outcome, theatre = played(lambda theatre, outcome: outcome.add(verdict))
    assert getattr(outcome, kind) == 1
    assert theatre.dropped
    assert outcomes.exit_code([Outcome(), outcome]) == 1


@pytest.mark.parametrize("kind", ["wrong", "findings"])
def test_a_wrong_answer_and_a_finding_of_the_auditor_fail_the_run(kind: str):
    outcome, _ = played(lambda theatre, outcome: setattr(outcome, kind, 1))
    assert outcomes.exit_code([outcome]) == 1


def test_a_trial_that_breaks_off_counts_as_stuck():
    def play(theatre: Any, outcome: Outcome) -> None:
        raise AssertionError("not within 60 s")

    outcome, _ = played(play)
    assert outcome.stuck == 1
    assert "not within 60 s" in outcome.remarks[0]
    assert outcomes.exit_code([outcome]) == 1


def test_what_the_machine_does_not_allow_is_said_and_does_not_pass_for_a_trial():
    def play(theatre: Any, outcome: Outcome) -> None:
        raise NotPossibleHere("mounting is refused")

    outcome, _ = played(play)
    assert "not possible here: mounting is refused" in outcomes.line("F0", "a fault", outcome)


def test_a_line_shows_every_figure():
    outcome = Outcome(trials=7, lost=1, leaked=2, stuck=3, wrong=4, findings=5)
    outcome.recovery, outcome.figures = [1.5, 12.25], {"duplicates": 6}
    shown = outcomes.line("F0", "a fault", outcome).split()
    assert shown[:9] == ["F0", "7", "1", "2", "3", "4", "5", "12.2", "s"]
    assert shown[-2:] == ["duplicates", "6"]


def test_faults_are_selected_by_their_codes():
    assert families.__all__
    assert [fault.code for fault in runner.chosen(["F4", "F1"])] == ["F1", "F4"]
    assert len(runner.chosen([])) == len(FAULTS)
    with pytest.raises(SystemExit, match="No such fault: F99"):
        runner.chosen(["F99"])
