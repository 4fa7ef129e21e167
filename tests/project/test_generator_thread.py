"""The bridge from a synchronous generator to a coroutine: order, back-pressure, and every end."""

import asyncio
import threading
import time
from collections.abc import Iterator
from contextlib import aclosing
from contextvars import ContextVar
from typing import Any

import pytest

from ragsite.web.generator_thread import GeneratorThread

from ..retrieval.scripted_pipeline import wait_until

name: ContextVar[str] = ContextVar("name", default="nobody")


class Counting:
    """A generator of numbers that notes how far it got and how it ended."""

    def __init__(self, count: int = 1_000_000) -> None:
        self.count, self.made, self.is_closed = count, 0, False
        self.thread = 0

    def __call__(self, cancelled: threading.Event) -> Iterator[int]:
        self.thread = threading.get_ident()
        try:
            for number in range(self.count):
                self.made += 1
                yield number
        finally:
            self.is_closed = True


async def read(bridge: GeneratorThread[Any], *, every: float = 5, most: int = 1000) -> list[Any]:
    found: list[Any] = []
    async with aclosing(bridge.items(every=every)) as items:
        async for item in items:
            found.append(item)
            if len(found) == most:
                break
    return found


def test_items_come_in_order_from_another_thread():
    ends: list[int] = []
    counting = Counting(500)
    bridge = GeneratorThread(counting, on_end=lambda: ends.append(1))
    assert asyncio.run(read(bridge)) == list(range(500))
    assert counting.thread != threading.get_ident()
    bridge.close()
    wait_until(lambda: ends == [1])


def test_the_generator_waits_for_its_reader():
    counting = Counting()

    async def slowly() -> None:
        bridge = GeneratorThread(counting, max_ahead=5)
        async with aclosing(bridge.items(every=5)) as items:
            async for item in items:
                await asyncio.sleep(0.01)
                assert counting.made <= item + 1 + 5 + 1
                if item == 30:
                    break

    asyncio.run(slowly())
    wait_until(lambda: counting.is_closed)


def test_a_reader_that_stops_closes_the_generator_and_ends_once():
    ends: list[int] = []
    counting = Counting()
    bridge = GeneratorThread(counting, on_end=lambda: ends.append(1))
    assert asyncio.run(read(bridge, most=3)) == [0, 1, 2]
    wait_until(lambda: counting.is_closed)
    assert bridge.cancelled.is_set()
    bridge.close()
    wait_until(lambda: ends == [1])


def test_a_reader_that_is_cancelled_closes_the_generator():
    def thinking(cancelled: threading.Event) -> Iterator[int]:
        yield 1
        cancelled.wait(30)
        ended.append(cancelled.is_set())

    ended: list[bool] = []

    async def leave() -> None:
        reading = asyncio.create_task(read(GeneratorThread(thinking)))
        await asyncio.sleep(0.2)
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading

    asyncio.run(leave())
    wait_until(lambda: ended == [True])


def test_one_that_is_never_read_is_never_begun():
    ends: list[int] = []
    counting = Counting()
    bridge = GeneratorThread(counting, on_end=lambda: ends.append(1))
    bridge.close()
    bridge.close()
    assert ends == [1]
    assert list(bridge.iterate()) == []
    assert asyncio.run(read(bridge)) == []
    assert (counting.made, ends) == (0, [1])


def test_errors_come_after_what_was_made_before_them():
    def failing(cancelled: threading.Event) -> Iterator[int]:
        yield 1
        yield 2
        raise ValueError("broken")

    found: list[Any] = []

    async def collect() -> None:
        async with aclosing(GeneratorThread(failing).items(every=5)) as items:
            async for item in items:
                found.append(item)

    with pytest.raises(ValueError, match="broken"):
        asyncio.run(collect())
    assert found == [1, 2]


def test_silence_is_noticed():
    def late(cancelled: threading.Event) -> Iterator[int]:
        time.sleep(0.5)
        yield 1

    found = asyncio.run(read(GeneratorThread(late), every=0.1))
    assert found[-1] == 1
    assert found.count(None) >= 2


def test_context_variables_are_those_of_whoever_made_it():
    def look(cancelled: threading.Event) -> Iterator[str]:
        yield name.get()

    name.set("maker")
    bridge = GeneratorThread(look)
    name.set("reader")
    assert asyncio.run(read(bridge)) == ["maker"]


def test_a_flood_leaves_the_event_loop_to_others():
    async def both() -> int:
        turns = 0
        reading = asyncio.create_task(read(GeneratorThread(Counting()), most=20_000))
        while not reading.done():
            await asyncio.sleep(0)
            turns += 1
        return turns

    assert asyncio.run(both()) > 1000


def test_in_the_calling_thread_it_is_a_plain_generator():
    counting = Counting(3)
    assert list(GeneratorThread(counting).iterate()) == [0, 1, 2]
    assert (counting.thread, counting.is_closed) == (threading.get_ident(), True)
