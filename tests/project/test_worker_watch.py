"""When the watch restarts the workers, and when it leaves them alone."""

import pytest

from ragsite.service.worker_watch import WorkerWatch


class Workers:
    """A world with a clock, workers of some age, and a database that may be away."""

    def __init__(self, *, beat_age: float | None, up_for: float = 100) -> None:
        self.beat_age = beat_age
        self.up_for = up_for
        self.now = 0.0
        self.rings = 0
        self.restarts = 0
        self.database_is_away = False
        self.watch = WorkerWatch(
            request_heartbeat=self.request_heartbeat,
            last_beat_age=lambda: self.beat_age,
            restart=self.restart,
            started_seconds_ago=lambda: self.up_for,
            clock=lambda: self.now,
        )

    def request_heartbeat(self) -> None:
        if self.database_is_away:
            raise ConnectionError("no database")
        self.rings += 1

    def restart(self) -> None:
        self.restarts += 1


@pytest.mark.parametrize(
    ("beat_age", "up_for", "restarts"),
    [(3, 100, 0), (20, 100, 0), (21, 100, 1), (None, 100, 1), (None, 29, 0), (500, 29, 0)],
)
def test_silence_past_the_grace_restarts(
    beat_age: float | None, up_for: float, restarts: int
) -> None:
    workers = Workers(beat_age=beat_age, up_for=up_for)
    workers.watch.check()
    assert (workers.rings, workers.restarts) == (1, restarts)


def test_a_database_that_is_away_says_nothing_about_the_workers() -> None:
    workers = Workers(beat_age=500)
    workers.database_is_away = True
    workers.watch.check()
    assert workers.restarts == 0


def test_after_it_is_back_the_workers_get_time_to_answer() -> None:
    workers = Workers(beat_age=500)
    workers.database_is_away = True
    workers.watch.check()
    workers.database_is_away = False
    workers.watch.check()
    workers.now = 19
    workers.watch.check()
    assert workers.restarts == 0
    workers.now = 20
    workers.watch.check()
    assert workers.restarts == 1
