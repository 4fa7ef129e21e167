"""How processor time grows with the size of the input: wall-clock time says how busy the machine
is, a ratio of processor times says how the work grows."""

import gc
import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

MIN_SECONDS = 0.005  # below this a measurement is mostly noise
TRIES = 3


def cpu_seconds(work: Callable[[], object]) -> float:
    """The least of a few tries: whatever disturbs one only adds to it."""
    tries = []
    gc.disable()  # it looks at all that other tests have left behind
    try:
        for _ in range(TRIES):
            started = time.process_time()
            work()
            tries.append(time.process_time() - started)
            if tries[-1] > 1:
                break  # long enough to be sure of, and too long to repeat
    finally:
        gc.enable()
    return max(MIN_SECONDS, min(tries))


def assert_grows_linearly(work: Callable[[T], object], small: T, four_times: T) -> None:
    """Linear work takes four times as long, quadratic work sixteen times, each time it is tried."""
    ratios = []
    for _ in range(TRIES):
        ratios.append(cpu_seconds(lambda: work(four_times)) / cpu_seconds(lambda: work(small)))
        if ratios[-1] < 10:
            return
    raise AssertionError(f"four times the size took {min(ratios):.1f} times as long")
