"""The jobs of worker groups that have ended are requeued, and no others."""

import pytest

from documents.jobs import heartbeat, queue
from documents.reindex import build
from ragsite.service.programs import WorkerKeeper


class FakeSupervisor:
    """Knows the process group of the worker: 0 while it is down."""

    number = 0

    def process_group(self, name: str) -> int:
        return self.number


def test_only_ended_groups_are_dead_even_when_process_ids_are_reused(
    monkeypatch: pytest.MonkeyPatch,
):
    dead: list[list[str]] = []
    monkeypatch.setattr(queue, "requeue_stalled", lambda groups: dead.append(list(groups)))
    monkeypatch.setattr(build, "requeue_stalled", lambda groups: None)
    monkeypatch.setattr(heartbeat, "forget_ended", lambda group: None)
    supervisor = FakeSupervisor()
    keeper = WorkerKeeper(supervisor)  # type: ignore[arg-type]
    for supervisor.number in (71, 71, 0, 72, 71):
        keeper.reap()
    first, second = heartbeat.group(71), heartbeat.group(72)
    assert dead == [[], [], [first], [first], [second]]
