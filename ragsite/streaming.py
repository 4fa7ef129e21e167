"""Responses that go on after the view has returned, and so outside its transaction.

Whatever they still need from the database, each step fetches in a namespace() of its own: no
transaction, and no tenant, stays open while a client reads. The connection goes back to the pool
after each step too, if the step runs by sync_to_async (ragsite/platform/threads.py).
"""

import json
from collections.abc import AsyncIterator
from typing import Any

from asgiref.sync import sync_to_async
from django.core.files.base import File
from django.http import StreamingHttpResponse
from django.utils.http import content_disposition_header

BLOCK = 64 * 1024


def file_response(file: File, *, name: str, media_type: str, size: int) -> StreamingHttpResponse:
    """A download that never holds the whole file, and that no browser will run as a page."""

    async def blocks() -> AsyncIterator[bytes]:
        while block := await sync_to_async(file.read)(BLOCK):
            yield block

    response = StreamingHttpResponse(blocks(), content_type=media_type)
    # Not in the generator: one that is refused is closed before its first block.
    response._resource_closers.append(file.close)  # type: ignore[attr-defined]
    response.headers["Content-Length"] = str(size)
    response.headers["Content-Security-Policy"] = "sandbox"
    response.headers["Content-Disposition"] = content_disposition_header(True, name) or "attachment"
    return response


def event_stream(events: AsyncIterator[tuple[str, Any]]) -> StreamingHttpResponse:
    """Server-sent events: (name, data) pairs, the data as one line of JSON."""

    async def encoded() -> AsyncIterator[bytes]:
        async for name, data in events:
            if not name:
                yield b": still here\n\n"
                continue
            # JSON escapes every line break that could end the event early.
            body = json.dumps(data, ensure_ascii=True)
            yield f"event: {name}\ndata: {body}\n\n".encode()

    response = StreamingHttpResponse(encoded(), content_type="text/event-stream")
    response.headers["Cache-Control"] = "no-cache"
    response.headers["X-Accel-Buffering"] = "no"
    return response
