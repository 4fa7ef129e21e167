"""An answer as a stream of (name, data) events, the same for server-sent events and WebSockets."""

import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

from django.conf import settings

from retrieval.answering.requests import AnswerEvent, AnswerRequest

from .runs import AnswerRun
from .shapes import WireEvents

TICK_SECONDS = 0.5
HEARTBEAT = ("", None)

EventPair = tuple[str, Any]


async def answer_events(run: AnswerRun, request: AnswerRequest) -> AsyncGenerator[EventPair]:
    """Ends with exactly one `answer` or `error`, whatever happens, unless its reader leaves."""
    try:
        async with aclosing(_events(run, request)) as events:
            async for pair in events:
                yield pair
    except Exception as error:
        yield "error", run.describe(error)
    finally:
        run.close()


async def _events(run: AnswerRun, request: AnswerRequest) -> AsyncGenerator[EventPair]:
    heartbeat: float = settings.ANSWER_RUNS["heartbeat"]
    wire, spoke = WireEvents(query=request.search.query), time.monotonic()
    async with aclosing(run.events.items(every=min(TICK_SECONDS, heartbeat))) as events:
        async for event in events:
            if problem := run.check():
                raise problem
            for pair in wire.of(event) if event else ():
                yield pair
                spoke = time.monotonic()
            if isinstance(event, AnswerEvent):
                run.answered()
                return
            if time.monotonic() - spoke >= heartbeat:
                yield HEARTBEAT
                spoke = time.monotonic()
    raise RuntimeError("The pipeline has ended without an answer.")
