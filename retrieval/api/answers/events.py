"""Stream an answer as (name, data) events, for server-sent events and WebSockets."""

import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

from django.conf import settings

from retrieval.answering.requests import AnswerEvent, AnswerRequest, Event

from .runs import AnswerRun
from .shapes import WireEvents

TICK_SECONDS = 0.5
HEARTBEAT = ("", None)

EventPair = tuple[str, Any]


async def answer_events(run: AnswerRun, request: AnswerRequest) -> AsyncGenerator[EventPair]:
    """Yield the events; the last is always one `answer` or `error`, unless the reader leaves."""
    wire = WireEvents(query=request.search.query)
    try:
        async with aclosing(pipeline_events(run)) as events:
            async for event in events:
                for pair in wire.of(event) if event else (HEARTBEAT,):
                    yield pair
    except Exception as error:
        yield "error", run.describe(error)
    finally:
        run.close()


async def pipeline_events(run: AnswerRun) -> AsyncGenerator[Event | None]:
    """Yield the pipeline's events, up to the AnswerEvent; None when a heartbeat is due.

    Raises the error that ended the run. The reader must close the run in any case.
    """
    heartbeat: float = settings.ANSWER_RUNS["heartbeat"]
    spoke = time.monotonic()
    async with aclosing(run.events.items(every=min(TICK_SECONDS, heartbeat))) as events:
        async for event in events:
            if problem := run.check():
                raise problem
            if event is not None or time.monotonic() - spoke >= heartbeat:
                yield event
                spoke = time.monotonic()
            if isinstance(event, AnswerEvent):
                run.answered()
                return
    raise RuntimeError("The pipeline has ended without an answer.")
