"""Each call of the API as a value: what to send, how to read the answer, whether to repeat it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar
from urllib.parse import parse_qs, quote, urlsplit

import httpx2
from pydantic import BaseModel, ValidationError

from .errors import UnexpectedResponse, error_of
from .models import (
    Answer,
    Document,
    Erased,
    Fact,
    FactSearchResult,
    Feedback,
    History,
    IngestAnswer,
    Job,
    Proposals,
    QueryAnswer,
    Remembered,
    Removal,
    Stated,
    StatedList,
    Text,
    Turn,
    TurnErasure,
    Usage,
)
from .options import NewFact, NewTurn, TextDocument
from .settings import Settings
from .uploads import Upload

T = TypeVar("T")
M = TypeVar("M", bound=BaseModel)
GATEWAY_ERRORS = (502, 503, 504)
REFUSED_FOR_NOW = (429, 503)
ANSWER_SECONDS = 240.0  # a language model may think for long before the answer comes as a whole


@dataclass(frozen=True)
class Call(Generic[T]):
    method: str
    path: str
    read: Callable[[Any], T]
    params: dict[str, str] = field(default_factory=dict)
    json: Any = None
    upload: Upload | None = None
    is_repeatable: bool = False  # doing it twice changes nothing
    extra_seconds: float = 0.0

    def request(
        self, client: httpx2.Client | httpx2.AsyncClient, settings: Settings
    ) -> httpx2.Request:
        """A new one for each attempt: files are read from their beginning."""
        body = self.upload.body() if self.upload else {"json": self.json} if self.json else {}
        params = self.params or None
        timeout = settings.timeouts(self.extra_seconds)
        return client.build_request(self.method, self.path, params=params, timeout=timeout, **body)

    def may_repeat_after(self, response: httpx2.Response, retry_after: float | None) -> bool:
        """429 and 503 with Retry-After did nothing; other failures are repeated where harmless."""
        if retry_after is not None and response.status_code in REFUSED_FOR_NOW:
            return True
        return self.is_repeatable and response.status_code in GATEWAY_ERRORS

    def may_repeat_after_error(self, error: httpx2.TransportError) -> bool:
        """A connection that was never made did nothing. What timed out is not asked again."""
        if isinstance(error, httpx2.ConnectError | httpx2.ConnectTimeout):
            return True
        return self.is_repeatable and not isinstance(error, httpx2.TimeoutException)

    def result(self, response: httpx2.Response) -> T:
        if not response.is_success:
            raise error_of(response)
        try:
            return self.read(response.json())
        except ValidationError as error:
            wrong = "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors())
            raise UnexpectedResponse(f"{self.path}: {wrong}") from None
        except ValueError:
            raise UnexpectedResponse(
                f"{self.path}: HTTP {response.status_code}, not JSON."
            ) from None


@dataclass(frozen=True)
class Page(Generic[T]):
    results: list[T]
    cursor: str  # of the next page; blank at the end


def _page_of(model: type[M]) -> Callable[[Any], Page[M]]:
    def read(data: Any) -> Page[M]:
        # Only the cursor is taken from the address: the key goes nowhere else than to base_url.
        cursor = parse_qs(urlsplit(data.get("next") or "").query).get("cursor", [""])[0]
        return Page([model.model_validate(row) for row in data["results"]], cursor)

    return read


def _path(*parts: str) -> str:
    return "/".join(quote(part, safe="") for part in parts)


def query(text: str, options: Any) -> Call[QueryAnswer]:
    body = {"query": text, **options}
    return Call("POST", "query", QueryAnswer.model_validate, json=body, is_repeatable=True)


def question(text: str | None, options: Any, *, stream: bool) -> dict[str, Any]:
    given = {} if text is None else {"query": text}
    return {**given, **options, "stream": stream}


def answer(text: str | None, options: Any) -> Call[Answer]:
    """Never repeated by itself after a broken connection: a language model may have been paid."""
    body = question(text, options, stream=False)
    return Call("POST", "answer", Answer.model_validate, json=body, extra_seconds=ANSWER_SECONDS)


def ingest_upload(upload: Upload) -> Call[IngestAnswer]:
    """Repeatable: the same content under the same source is the same document."""
    return Call(
        *("POST", "ingest", IngestAnswer.model_validate),
        upload=upload,
        is_repeatable=True,
        extra_seconds=upload.wait,
    )


def ingest_json(fields: dict[str, Any]) -> Call[IngestAnswer]:
    return Call(
        *("POST", "ingest", IngestAnswer.model_validate),
        json=fields,
        is_repeatable=True,
        extra_seconds=float(fields.get("wait", 0)),
    )


def texts(documents: Sequence[TextDocument], fields: dict[str, Any]) -> Call[IngestAnswer]:
    return ingest_json({"documents": list(documents), **fields})


def job(job_id: str) -> Call[Job]:
    return Call("GET", _path("jobs", job_id), Job.model_validate, is_repeatable=True)


def documents(filters: dict[str, str | None], cursor: str) -> Call[Page[Document]]:
    params = {name: value for name, value in filters.items() if value is not None}
    if cursor:
        params["cursor"] = cursor
    return Call("GET", "documents", _page_of(Document), params=params, is_repeatable=True)


def document(document_id: str) -> Call[Document]:
    path = _path("documents", document_id)
    return Call("GET", path, Document.model_validate, is_repeatable=True)


def document_text(document_id: str) -> Call[Text]:
    path = _path("documents", document_id, "text")
    return Call("GET", path, Text.model_validate, is_repeatable=True)


def delete_document(document_id: str) -> Call[Removal]:
    return Call("DELETE", _path("documents", document_id), Removal.model_validate)


def feedback(fields: Any) -> Call[Feedback]:
    return Call("POST", "feedback", Feedback.model_validate, json=dict(fields))


def usage() -> Call[Usage]:
    return Call("GET", "usage", Usage.model_validate, is_repeatable=True)


def remember_turns(turns: Sequence[NewTurn], fields: dict[str, Any]) -> Call[Remembered]:
    """Repeatable: the same turn again is no second one."""
    return Call(
        *("POST", "memories", Remembered.model_validate),
        json={"turns": list(turns), **fields},
        is_repeatable=True,
        extra_seconds=float(fields.get("wait", 0)),
    )


def search_memories(text: str, options: Any) -> Call[QueryAnswer]:
    body = {"query": text, **options}
    return Call(
        "POST", "memories/search", QueryAnswer.model_validate, json=body, is_repeatable=True
    )


def memories(filters: dict[str, str | None], cursor: str) -> Call[Page[Turn]]:
    params = {name: value for name, value in filters.items() if value is not None}
    if cursor:
        params["cursor"] = cursor
    return Call("GET", "memories", _page_of(Turn), params=params, is_repeatable=True)


def delete_turn(turn_id: str) -> Call[TurnErasure]:
    return Call("DELETE", _path("memories", turn_id), TurnErasure.model_validate)


def delete_session(session: str, user: str | None) -> Call[TurnErasure]:
    params = {"session": session} if user is None else {"session": session, "user": user}
    return Call("DELETE", "memories", TurnErasure.model_validate, params=params)


def state_facts(facts: Sequence[NewFact]) -> Call[StatedList]:
    """Repeatable if each has an id: without one, the same again would confirm it."""
    return Call(
        *("POST", "facts", StatedList.model_validate),
        json={"facts": list(facts)},
        is_repeatable=all(fact.get("statement_id") for fact in facts),
    )


def facts(filters: dict[str, str | None], cursor: str) -> Call[Page[Fact]]:
    params = {name: value for name, value in filters.items() if value is not None}
    if cursor:
        params["cursor"] = cursor
    return Call("GET", "facts", _page_of(Fact), params=params, is_repeatable=True)


def fact(fact_id: str) -> Call[Fact]:
    return Call("GET", _path("facts", fact_id), Fact.model_validate, is_repeatable=True)


def fact_history(subject: str, further: dict[str, str | None]) -> Call[list[Fact]]:
    given = {name: value for name, value in further.items() if value is not None}
    return Call(
        *("GET", "facts/history", lambda data: History.model_validate(data).results),
        params={"subject": subject, **given},
        is_repeatable=True,
    )


def search_facts(text: str | None, options: Any) -> Call[FactSearchResult]:
    body = {**({} if text is None else {"query": text}), **options}
    return Call(
        *("POST", "facts/search", FactSearchResult.model_validate), json=body, is_repeatable=True
    )


def change_fact(fact_id: str, changes: Any) -> Call[Fact]:
    """Repeatable: it sets values."""
    path = _path("facts", fact_id)
    return Call("PATCH", path, Fact.model_validate, json=dict(changes), is_repeatable=True)


def confirm_fact(fact_id: str, certainty: float, source_uri: str) -> Call[Stated]:
    body = {"certainty": certainty, "source_uri": source_uri}
    return Call("POST", _path("facts", fact_id, "confirm"), Stated.model_validate, json=body)


def retract_fact(fact_id: str) -> Call[Fact]:
    return Call("POST", _path("facts", fact_id, "retract"), Fact.model_validate)


def approve_fact(fact_id: str) -> Call[Stated]:
    return Call("POST", _path("facts", fact_id, "approve"), Stated.model_validate)


def reject_fact(fact_id: str) -> Call[Fact]:
    return Call("POST", _path("facts", fact_id, "reject"), Fact.model_validate)


def propose_facts(text: str | None, options: Any) -> Call[Proposals]:
    """Never repeated by itself: a language model may have been paid."""
    body = {**({} if text is None else {"text": text}), **options}
    return Call(
        *("POST", "facts/propose", Proposals.model_validate),
        json=body,
        extra_seconds=ANSWER_SECONDS,
    )


def erase_facts(selection: Any) -> Call[Erased]:
    return Call("POST", "facts/erase", Erased.model_validate, json=dict(selection))
