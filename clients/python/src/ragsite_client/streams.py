"""An answer while it is being written."""

from collections.abc import AsyncGenerator, AsyncIterator, Generator, Iterator
from types import TracebackType
from typing import Self

import httpx2

from .errors import connection_error
from .events import (
    AnswerEvent,
    Delta,
    EventParser,
    Failed,
    Finished,
    answer_event,
    answer_or_raise,
    broken,
)
from .models import Answer


class AnswerStream:
    """Iterate over its events; the last is always Finished or Failed. Nothing is asked again.

    Leaving the `with` block closes the connection, which ends the model's work.
    """

    def __init__(self, response: httpx2.Response) -> None:
        self._response = response
        self._events = self._read()
        self._last: AnswerEvent | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        self._events.close()
        self._response.close()

    def __iter__(self) -> Iterator[AnswerEvent]:
        return self._events

    def text(self) -> Iterator[str]:
        """Only the pieces of text. Raises if the answer fails."""
        for event in self:
            if isinstance(event, Delta):
                yield event.text
        self.answer()

    def answer(self) -> Answer:
        """Read to the end; the whole answer, or the error raised."""
        for _ in self:
            pass
        return answer_or_raise(self._last)

    def _read(self) -> Generator[AnswerEvent, None, None]:
        parser = EventParser()
        try:
            for line in self._response.iter_lines():
                for name, data in parser.feed(line):
                    if (event := answer_event(name, data)) is None:
                        continue
                    self._last = event
                    yield event
                    if isinstance(event, Finished | Failed):
                        return
            self._last = broken()
        except httpx2.TransportError as error:
            self._last = Failed(connection_error(error))
        finally:
            self._response.close()
        yield self._last


class AsyncAnswerStream:
    """As AnswerStream, for asynchronous code."""

    def __init__(self, response: httpx2.Response) -> None:
        self._response = response
        self._events = self._read()
        self._last: AnswerEvent | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        await self._events.aclose()
        await self._response.aclose()

    def __aiter__(self) -> AsyncIterator[AnswerEvent]:
        return self._events

    async def text(self) -> AsyncIterator[str]:
        """Only the pieces of text. Raises if the answer fails."""
        async for event in self:
            if isinstance(event, Delta):
                yield event.text
        await self.answer()

    async def answer(self) -> Answer:
        """Read to the end; the whole answer, or the error raised."""
        async for _ in self:
            pass
        return answer_or_raise(self._last)

    async def _read(self) -> AsyncGenerator[AnswerEvent, None]:
        parser = EventParser()
        try:
            async for line in self._response.aiter_lines():
                for name, data in parser.feed(line):
                    if (event := answer_event(name, data)) is None:
                        continue
                    self._last = event
                    yield event
                    if isinstance(event, Finished | Failed):
                        return
            self._last = broken()
        except httpx2.TransportError as error:
            self._last = Failed(connection_error(error))
        finally:
            await self._response.aclose()
        yield self._last
