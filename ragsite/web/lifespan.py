"""Run lifespan handlers around an application that has none (Django)."""

import logging
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

from ragsite.platform.asgi_types import Application, Receive, Scope, Send

logger = logging.getLogger(__name__)


class Lifespan:
    """Enters `during` when the server starts and leaves it when the server has stopped."""

    def __init__(
        self,
        application: Application,
        *,
        during: Callable[[], AbstractAsyncContextManager[None]],
    ) -> None:
        self.application, self.during = application, during

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "lifespan":
            await self.application(scope, receive, send)
            return
        step = "startup"
        await receive()
        try:
            async with self.during():
                await send({"type": "lifespan.startup.complete"})
                step = "shutdown"
                await receive()
        except Exception as error:
            logger.exception("lifespan.failed", extra={"step": step})
            await send({"type": f"lifespan.{step}.failed", "message": type(error).__name__})
            return
        await send({"type": "lifespan.shutdown.complete"})
