"""Leaving work that cannot be interrupted: at the deadline, and never too much of it."""

import threading
import time
from collections.abc import Callable

import pytest

from retrieval.rerankers.base import RerankFailed, RerankTimeout, RerankUnavailable
from retrieval.rerankers.deadline import RerankRunner, batches

from ..threads import at_once


def test_the_outcome_of_work_in_time_is_returned():
    assert RerankRunner(1).run(lambda: 42, deadline=time.monotonic() + 5) == 42


def test_errors_come_back_with_their_cause():
    def bad() -> None:
        raise ConnectionError("with a key")

    with pytest.raises(RerankFailed, match="ConnectionError") as caught:
        RerankRunner(1).run(bad, deadline=time.monotonic() + 5)
    assert isinstance(caught.value.__cause__, ConnectionError)
    assert "with a key" not in str(caught.value)


def test_at_most_so_many_are_left_behind_and_then_it_works_again():
    runner, release = RerankRunner(2), threading.Event()
    for _ in range(2):
        with pytest.raises(RerankTimeout):
            runner.run(release.wait, deadline=time.monotonic() + 0.05)
    assert runner.abandoned == 2
    with pytest.raises(RerankUnavailable):  # refused; waited out it would be RerankTimeout
        runner.run(lambda: 1, deadline=time.monotonic() + 5)
    release.set()
    assert _eventually(lambda: runner.abandoned == 0)
    assert runner.run(lambda: 1, deadline=time.monotonic() + 5) == 1


def test_who_finds_all_places_taken_waits_for_one():
    runner, running = RerankRunner(2), []
    most = []

    def work() -> int:
        running.append(1)
        most.append(len(running))
        time.sleep(0.02)
        running.pop()
        return 1

    results = at_once(8, lambda n: runner.run(work, deadline=time.monotonic() + 10))
    assert results == [1] * 8
    assert max(most) <= 2


def test_waiting_for_a_place_ends_at_the_deadline_too():
    runner, taken, release = RerankRunner(1), threading.Event(), threading.Event()

    def hold() -> None:
        taken.set()
        release.wait(60)

    thread = threading.Thread(target=lambda: runner.run(hold, deadline=time.monotonic() + 60))
    thread.start()
    assert taken.wait(30)
    with pytest.raises(RerankTimeout):
        runner.run(lambda: 1, deadline=time.monotonic() + 0.1)
    release.set()
    thread.join()


def test_a_system_without_threads_leaves_no_place_taken(monkeypatch: pytest.MonkeyPatch):
    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    runner = RerankRunner(1)
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        with pytest.raises(RerankUnavailable):
            runner.run(lambda: 1, deadline=time.monotonic() + 1)
    assert runner.run(lambda: 1, deadline=time.monotonic() + 5) == 1


def test_batches_cover_everything_in_order():
    sizes = [list(b) for b in batches(range(7), size=3, deadline=time.monotonic() + 5)]
    assert sizes == [[0, 1, 2], [3, 4, 5], [6]]


def test_no_batch_begins_after_the_deadline():
    with pytest.raises(RerankTimeout):
        next(batches([1], size=1, deadline=time.monotonic()))


def test_what_cannot_be_done_in_time_is_given_up_before_the_time_is_over():
    done = []
    deadline = time.monotonic() + 5

    def work() -> None:
        for (number,) in batches(range(1000), size=1, deadline=deadline):
            done.append(number)
            time.sleep(0.05)  # fifty seconds in all

    with pytest.raises(RerankTimeout):
        work()
    assert len(done) < 50  # those of the first quarter of the time, not all that fit


def _eventually(is_so: Callable[[], bool], seconds: float = 30.0) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if is_so():
            return True
        time.sleep(0.01)
    return False
