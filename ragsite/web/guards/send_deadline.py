"""Ends an answer whose client has stopped reading: no single `send` may take longer than N seconds.

For every kind of answer and every server. `http_protocol.py` is stricter where uvicorn serves:
it also drops what a closed connection has not delivered.
"""

import asyncio
import logging

from ragsite.platform.asgi_types import Application, Message, Receive, Scope, Send

logger = logging.getLogger(__name__)


class ClientStoppedReading(Exception):
    pass


class SendDeadline:
    def __init__(self, application: Application, *, seconds: float) -> None:
        self.application, self.seconds = application, seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        stopped = False

        async def send_in_time(message: Message) -> None:
            nonlocal stopped
            try:
                async with asyncio.timeout(self.seconds):
                    await send(message)
            except TimeoutError:
                stopped = True
                raise ClientStoppedReading from None

        try:
            await self.application(scope, receive, send_in_time)
        except Exception:
            if not stopped:
                raise
            # The answer is incomplete, so the server closes the connection.
            logger.info("stream.cut_off", extra={"path": scope.get("path", "")})
