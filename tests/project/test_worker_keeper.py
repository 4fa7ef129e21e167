"""Whose jobs are taken back: those of worker lives that are over, and of no other."""

import pytest

from documents.jobs import heartbeat, queue
from ragsite.service.programs import WorkerKeeper


class Lives:
    """A supervisor, as far as the keeper asks: the number of the worker's group, 0 while down."""

    number = 0

    def process_group(self, name: str) -> int:
        return self.number


def test_only_lives_that_are_over_are_buried_even_when_numbers_come_again(
    monkeypatch: pytest.MonkeyPatch,
):
    buried: list[list[str]] = []
    monkeypatch.setattr(queue, "requeue_stalled", lambda dead: buried.append(list(dead)))
    lives = Lives()
    keeper = WorkerKeeper(lives)  # type: ignore[arg-type]
    for lives.number in (71, 71, 0, 72, 71):
        keeper.reap()
    first, second = heartbeat.group(71), heartbeat.group(72)
    assert buried == [[], [], [first], [first], [second]]
