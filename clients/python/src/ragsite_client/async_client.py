"""The client for asynchronous code: the same calls, awaited."""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from types import TracebackType
from typing import Any, Self, TypeVar, Unpack, cast

import httpx2

from . import calls
from .calls import Call
from .errors import ConnectionFailed, StreamBroken, connection_error, error_of, retry_after_of
from .events import EventParser, job_event
from .ingestion import IngestOptions, brought_up_to_date, server_wait, unfinished
from .models import (
    Answer,
    Document,
    Erased,
    Fact,
    FactSearchResult,
    Feedback,
    IngestAnswer,
    Job,
    Proposals,
    QueryAnswer,
    Remembered,
    Removal,
    Stated,
    Text,
    Turn,
    TurnErasure,
    Usage,
)
from .options import (
    AnswerOptions,
    FactChanges,
    FactOptions,
    FactSelection,
    FeedbackOptions,
    MemoryOptions,
    NewFact,
    NewTurn,
    ProposingOptions,
    QueryOptions,
    TextDocument,
)
from .settings import Settings
from .streams import AsyncAnswerStream
from .uploads import FileInput, ProgressCallback, Upload

T = TypeVar("T")
POLL_SECONDS = 0.25


class AsyncClient:
    """As Client, with `await`, `async with` and `async for`."""

    def __init__(
        self,
        base_url: str | None = None,
        api_key: str | None = None,
        *,
        timeout: float = 60.0,
        max_retries: int = 2,
        max_retry_after: float = 60.0,
        http: httpx2.AsyncClient | None = None,
    ) -> None:
        self._settings = Settings.read(base_url, api_key, timeout, max_retries, max_retry_after)
        self._http = http or httpx2.AsyncClient()
        self._http.base_url = httpx2.URL(self._settings.api_url)
        self._http.headers.update(self._settings.headers)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._settings.base_url!r})"

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
        await self._http.aclose()

    async def query(self, query: str, **options: Unpack[QueryOptions]) -> QueryAnswer:
        """Passages for a question, each with its place in the source."""
        return await self._run(calls.query(query, options))

    async def answer(self, query: str | None = None, **options: Unpack[AnswerOptions]) -> Answer:
        """An answer with checked citations. `query` may be left out if `messages` ends with it."""
        return await self._run(calls.answer(query, options))

    async def stream_answer(
        self, query: str | None = None, **options: Unpack[AnswerOptions]
    ) -> AsyncAnswerStream:
        """The same as events. The last one is always Finished or Failed."""
        body = calls.question(query, options, stream=True)
        return AsyncAnswerStream(await self._open("POST", "answer", body))

    async def ingest_files(
        self,
        *files: FileInput,
        each: Sequence[TextDocument] | None = None,
        on_duplicate: str = "skip",
        wait: float = 0.0,
        on_progress: ProgressCallback | None = None,
        **options: Unpack[IngestOptions],
    ) -> IngestAnswer:
        """Upload paths, or (name, bytes). `on_progress` gets the bytes sent, and all of them.

        `wait`: seconds until they are searchable. Look at `failed` of the result.
        """
        upload = Upload(files, dict(options), each, on_duplicate, server_wait(wait), on_progress)
        return await self._ingest(calls.ingest_upload(upload), wait)

    async def ingest_text(
        self,
        content: str,
        *,
        on_duplicate: str = "skip",
        wait: float = 0.0,
        **options: Unpack[IngestOptions],
    ) -> IngestAnswer:
        """A text of your own. Give it a `source_uri` if it will change."""
        document = cast(TextDocument, {"content": content, **options})
        return await self.ingest_texts([document], on_duplicate=on_duplicate, wait=wait)

    async def ingest_texts(
        self, documents: Sequence[TextDocument], *, on_duplicate: str = "skip", wait: float = 0.0
    ) -> IngestAnswer:
        fields = {"on_duplicate": on_duplicate, "wait": server_wait(wait)}
        return await self._ingest(calls.texts(documents, fields), wait)

    async def ingest_url(
        self,
        url: str,
        *,
        on_duplicate: str = "skip",
        wait: float = 0.0,
        **options: Unpack[IngestOptions],
    ) -> IngestAnswer:
        """A public web page or file, which the server fetches once."""
        fields = {"url": url, "on_duplicate": on_duplicate, "wait": server_wait(wait), **options}
        return await self._ingest(calls.ingest_json(fields), wait)

    async def job(self, job_id: str) -> Job:
        return await self._run(calls.job(job_id))

    async def job_progress(self, job_id: str) -> AsyncIterator[Job]:
        """The job whenever it changes; the last one is as it ended."""
        response, parser = await self._open("GET", f"jobs/{job_id}/events"), EventParser()
        try:
            async for line in response.aiter_lines():
                for name, data in parser.feed(line):
                    job, is_last = job_event(name, data)
                    yield job
                    if is_last:
                        return
        except httpx2.TransportError as error:
            raise connection_error(error) from error
        finally:
            await response.aclose()
        raise StreamBroken("The stream ended before the job did.")

    async def documents(
        self,
        *,
        tag: str | None = None,
        status: str | None = None,
        source_uri: str | None = None,
        source_type: str | None = None,
    ) -> AsyncIterator[Document]:
        """All documents, fetched page by page."""
        filters = {"tag": tag, "status": status, "source_uri": source_uri, "limit": "200"}
        cursor, is_first = "", True
        while cursor or is_first:
            page = await self._run(calls.documents({**filters, "source_type": source_type}, cursor))
            for document in page.results:
                yield document
            cursor, is_first = page.cursor, False

    async def document(self, document_id: str) -> Document:
        return await self._run(calls.document(document_id))

    async def document_text(self, document_id: str) -> Text:
        """The text that spans and citations point into, in code points."""
        return await self._run(calls.document_text(document_id))

    async def delete_document(self, document_id: str) -> Removal:
        return await self._run(calls.delete_document(document_id))

    async def remember_turns(
        self, turns: Sequence[NewTurn], *, session: str, user: str = "", wait: float = 0.0
    ) -> Remembered:
        """Store turns of a conversation, each once; searchable after at most `wait` seconds."""
        fields: dict[str, Any] = {"session": session, "wait": server_wait(wait)}
        named = {"user": user} if user else {}
        return await self._run(calls.remember_turns(turns, {**fields, **named}))

    async def search_memories(self, query: str, **options: Unpack[MemoryOptions]) -> QueryAnswer:
        """Passages of conversations, best first; `chunk_metadata.turns` says who spoke when."""
        return await self._run(calls.search_memories(query, options))

    async def memories(
        self, *, session: str | None = None, user: str | None = None
    ) -> AsyncIterator[Turn]:
        """All turns in the order in which they were said, fetched page by page."""
        filters = {"session": session, "user": user, "limit": "200"}
        cursor, is_first = "", True
        while cursor or is_first:
            page = await self._run(calls.memories(filters, cursor))
            for turn in page.results:
                yield turn
            cursor, is_first = page.cursor, False

    async def delete_turn(self, turn_id: str) -> TurnErasure:
        return await self._run(calls.delete_turn(turn_id))

    async def delete_session(self, session: str, *, user: str | None = None) -> TurnErasure:
        return await self._run(calls.delete_session(session, user))

    async def state_fact(self, fact: NewFact) -> Stated:
        """State what holds. The same again confirms it; a `statement_id` makes it harmless to
        repeat."""
        return (await self.state_facts([fact]))[0]

    async def state_facts(self, facts: Sequence[NewFact]) -> list[Stated]:
        """All are stored, or none; what became of each, in their order."""
        return (await self._run(calls.state_facts(facts))).results

    async def search_facts(
        self, query: str | None = None, **options: Unpack[FactOptions]
    ) -> FactSearchResult:
        """Facts by relevance × certainty × decay; without a query all in the scope."""
        return await self._run(calls.search_facts(query, options))

    async def facts(
        self,
        *,
        subject: str | None = None,
        predicate: str | None = None,
        user: str | None = None,
        tag: str | None = None,
        status: str | None = None,
        as_of: str | None = None,
        known_at: str | None = None,
    ) -> AsyncIterator[Fact]:
        """All facts, fetched page by page. `as_of`: only what holds then, such as `now`."""
        filters = {"subject": subject, "predicate": predicate, "user": user, "tag": tag}
        filters |= {"status": status, "as_of": as_of, "known_at": known_at, "limit": "200"}
        cursor, is_first = "", True
        while cursor or is_first:
            page = await self._run(calls.facts(filters, cursor))
            for fact in page.results:
                yield fact
            cursor, is_first = page.cursor, False

    async def fact(self, fact_id: str) -> Fact:
        return await self._run(calls.fact(fact_id))

    async def fact_history(
        self, subject: str, *, predicate: str | None = None, user: str | None = None
    ) -> list[Fact]:
        """All that was ever held about a subject, in order of validity."""
        return await self._run(calls.fact_history(subject, {"predicate": predicate, "user": user}))

    async def change_fact(self, fact_id: str, **changes: Unpack[FactChanges]) -> Fact:
        """Correct certainty, tags, source or validity by hand."""
        return await self._run(calls.change_fact(fact_id, changes))

    async def confirm_fact(
        self, fact_id: str, *, certainty: float = 1.0, source_uri: str = ""
    ) -> Stated:
        return await self._run(calls.confirm_fact(fact_id, certainty, source_uri))

    async def retract_fact(self, fact_id: str) -> Fact:
        """It was wrong: it is found no more, and stays in the history."""
        return await self._run(calls.retract_fact(fact_id))

    async def propose_facts(
        self, text: str | None = None, **options: Unpack[ProposingOptions]
    ) -> Proposals:
        """Let a language model read facts in a text or a `document_id`; they wait for approval."""
        return await self._run(calls.propose_facts(text, options))

    async def approve_fact(self, fact_id: str) -> Stated:
        return await self._run(calls.approve_fact(fact_id))

    async def reject_fact(self, fact_id: str) -> Fact:
        return await self._run(calls.reject_fact(fact_id))

    async def erase_facts(self, **selection: Unpack[FactSelection]) -> Erased:
        """Forget for good, by exactly one of `ids`, `subject`, `user` or `source_uri`."""
        return await self._run(calls.erase_facts(selection))

    async def feedback(self, **fields: Unpack[FeedbackOptions]) -> Feedback:
        """Of a `query_id`: `useful`, `selected_chunk_ids` or `comment`."""
        return await self._run(calls.feedback(fields))

    async def usage(self) -> Usage:
        """What the namespace uses of its quotas."""
        return await self._run(calls.usage())

    async def _run(self, call: Call[T]) -> T:
        return call.result(await self._send(call))

    async def _send(self, call: Call[Any], *, stream: bool = False) -> httpx2.Response:
        settings = self._settings
        for attempt in range(settings.max_retries + 1):
            is_last = attempt == settings.max_retries
            retry_after = None
            try:
                request = call.request(self._http, settings)
                response = await self._http.send(request, stream=stream, follow_redirects=False)
                retry_after = retry_after_of(response)
                is_too_long = (retry_after or 0) > settings.max_retry_after
                if is_last or is_too_long or not call.may_repeat_after(response, retry_after):
                    return response
                await response.aclose()
            except httpx2.TransportError as error:
                if is_last or not call.may_repeat_after_error(error):
                    raise connection_error(error) from error
            await asyncio.sleep(settings.pause(attempt, retry_after))
        raise ConnectionFailed("max_retries must not be negative.")

    async def _open(self, method: str, path: str, body: Any = None) -> httpx2.Response:
        """A response that is read as it comes; refusals are raised before anything comes."""
        response = await self._send(Call(method, path, lambda data: data, json=body), stream=True)
        if not response.is_success:
            try:
                await response.aread()
            except httpx2.TransportError as error:
                raise connection_error(error) from error
            raise error_of(response)
        return response

    async def _ingest(self, call: Call[IngestAnswer], wait: float) -> IngestAnswer:
        """What the server did not wait for is asked for until `wait` seconds are over."""
        until = time.monotonic() + wait
        answer = await self._run(call)
        while (left := unfinished(answer)) and time.monotonic() < until:
            await asyncio.sleep(POLL_SECONDS)
            documents = [await self.document(each) for each in left]
            answer = brought_up_to_date(answer, documents)
        return answer
