"""The threads that calls run in: what a cancelled call leaves behind, and as whom it acts."""

import asyncio
import threading
import uuid

from ragsite.access.actor import KEY, Actor, current_actor
from ragsite.access.auth import Caller
from ragsite.platform.logs import current_request_id
from ragsite.web.client_watch import current_watch
from ragsite.web.threads import RequestThreads
from retrieval.mcp.calls import CallThreads, ToolCall, slots

from ..scripted_pipeline import wait_until

CALLER = Caller(uuid.uuid4(), uuid.uuid4(), frozenset({"read"}), "abc")
CALL = ToolCall(CALLER, Actor(KEY, "abc", "192.0.2.1"), "trace-7", "http://localhost")


def test_work_knows_for_whom_it_is_done():
    async def run() -> object:
        threads = CallThreads(RequestThreads())
        return await threads.run(CALL, lambda: (current_actor(), current_request_id()))

    assert asyncio.run(run()) == (CALL.actor, "trace-7")
    wait_until(lambda: slots.count() == 0)


def test_a_cancelled_call_tells_its_work_and_keeps_its_place_until_that_has_ended():
    begun, left, go_on = threading.Event(), threading.Event(), threading.Event()

    def work() -> None:
        watch = current_watch()
        assert watch is not None
        watch.start(on_leave=left.set, on_tick=lambda: None)
        begun.set()
        go_on.wait(20)

    async def run() -> None:
        task = asyncio.ensure_future(CallThreads(RequestThreads()).run(CALL, work))
        await asyncio.to_thread(begun.wait, 20)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert task.cancelled()

    asyncio.run(run())
    assert left.is_set()
    assert slots.count() == 1
    go_on.set()
    wait_until(lambda: slots.count() == 0)


def test_a_call_cancelled_before_its_work_began_gives_its_place_back():
    async def run() -> None:
        threads = RequestThreads(max_idle=1)
        blocked = threading.Event()
        # The next call gets this very thread, and waits.
        first = threads.submit(lambda: None)
        first.result()
        await asyncio.to_thread(wait_until, lambda: len(threads._idle) == 1)
        threads._idle[0].submit(blocked.wait, 20)
        never: list[int] = []
        task = asyncio.ensure_future(CallThreads(threads).run(CALL, lambda: never.append(1)))
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert slots.count() == 0
        blocked.set()
        assert never == []

    asyncio.run(run())
