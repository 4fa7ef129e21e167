"""Responses that continue after the view has returned, and so outside of its transaction.

Each step that needs the database opens its own namespace(), so that no transaction stays open while
a client reads. If a step runs by sync_to_async, its connection also returns to the pool afterwards
(ragsite/web/threads.py).
"""

import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import Any

from asgiref.sync import sync_to_async
from django.core.files.base import File
from django.http import StreamingHttpResponse
from django.utils.http import content_disposition_header
from rest_framework.utils.encoders import JSONEncoder

BLOCK = 64 * 1024
HEARTBEAT_BLOCK = b": still here\n\n"
_ENCODER = JSONEncoder()


def file_response(file: File, *, name: str, media_type: str, size: int) -> StreamingHttpResponse:
    """A download that is sent in blocks and that no browser runs as a page."""

    async def blocks() -> AsyncIterator[bytes]:
        while block := await sync_to_async(file.read)(BLOCK):
            yield block

    response = StreamingHttpResponse(blocks(), content_type=media_type)
    # Not in the generator, which never starts if the response is refused.
    response._resource_closers.append(file.close)  # type: ignore[attr-defined]
    response.headers["Content-Length"] = str(size)
    response.headers["Content-Security-Policy"] = "sandbox"
    response.headers["Content-Disposition"] = content_disposition_header(True, name) or "attachment"
    return response


def as_line(data: Any) -> str:
    """Encode as one line of JSON, so that no line break ends an event early."""
    return json.dumps(data, ensure_ascii=True, default=_ENCODER.default)


def event_stream(events: AsyncGenerator[tuple[str, Any]]) -> StreamingHttpResponse:
    """Server-sent events: (name, data) pairs, the data as one line of JSON; a heartbeat where the
    name is empty."""

    async def encoded() -> AsyncGenerator[bytes]:
        async with aclosing(events):
            async for name, data in events:
                yield event_block(data, name=name) if name else HEARTBEAT_BLOCK

    return event_blocks(encoded())


def event_block(data: Any, *, name: str = "") -> bytes:
    """Encode one event; without a name it is one of data alone."""
    line = f"data: {as_line(data)}\n\n"
    return (f"event: {name}\n{line}" if name else line).encode()


def event_blocks(blocks: AsyncGenerator[bytes]) -> StreamingHttpResponse:
    """Server-sent events that are encoded already."""
    response = StreamingHttpResponse(blocks, content_type="text/event-stream")
    response.headers["Cache-Control"] = "no-cache, no-transform"
    response.headers["X-Accel-Buffering"] = "no"
    return response
