"""Accept documents one by one, independently: for POST /ingest and the other APIs."""

import threading
import uuid
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from django.conf import settings

from documents.errors import IngestError
from documents.intake import intake
from documents.intake.archives import expanded
from documents.intake.batches import OnePerSource
from documents.intake.intake import Submission
from documents.jobs import queue
from documents.models import Document
from ragsite.database.tenancy import namespace
from ragsite.platform.errors import ApiError
from ragsite.web.client_watch import current_watch

from .results import bring_up_to_date, rejection, result_of

HTTP_STATUS = {
    "too_large": 413,
    "unsupported_type": 415,
    "type_mismatch": 415,
    "duplicate_content": 409,
    "storage_full": 507,
    "storage_unavailable": 503,
    "quota_exceeded": 403,
    "same_source_twice": 409,
}
RETRY_AFTER = 5  # seconds
FAILED = ("rejected", Document.Status.FAILED)
UNFINISHED = (Document.Status.QUEUED, Document.Status.PROCESSING)


def take(
    namespace_id: uuid.UUID,
    items: Sequence[Submission | IngestError],
    *,
    wait: float,
    slot: AbstractContextManager[None],
) -> list[dict[str, Any]]:
    """Return one result per document, once all are indexed or `wait` seconds have passed.

    A call that waits takes a `slot` before storing anything, so that a refused call stores nothing.
    """
    seconds = min(wait, settings.INGEST_MAX_WAIT)
    with slot if seconds else nullcontext():
        results = list(_take_all(namespace_id, items))
        job_ids = [result["job_id"] for result in results if result["job_id"]]
        queue.wait(namespace_id, job_ids, seconds=seconds, unless=_client_left())
    with namespace(namespace_id):
        bring_up_to_date(results)
    return results


def _client_left() -> threading.Event:
    """Return an event that is set when the client has disconnected."""
    left = threading.Event()
    if watch := current_watch():
        watch.start(on_leave=left.set, on_tick=lambda: None)
    return left


def require_any(results: list[dict[str, Any]]) -> None:
    """Raise ApiError if no document was accepted."""
    if any(result["status"] != "rejected" for result in results):
        return
    codes = {result["error"]["code"] for result in results}
    code = codes.pop() if len(codes) == 1 else "nothing_taken"
    message = results[0]["error"]["message"]
    if len(results) > 1:
        message = f"None of the {len(results)} documents was accepted; the first: {message}"
    http_status = HTTP_STATUS.get(code, 422)
    details = {**results[0]["error"]["details"], "results": results}
    raise ApiError(
        code,
        message,
        http_status=http_status,
        details=details,
        retry_after=RETRY_AFTER if http_status == 503 else None,
    )


def _take_all(
    namespace_id: uuid.UUID, items: Sequence[Submission | IngestError]
) -> Iterator[dict[str, Any]]:
    """Yield one result per document; the files of an archive share their index."""
    batch = OnePerSource()
    for index, item in enumerate(items):
        if isinstance(item, IngestError):
            yield rejection(index, item)
            continue
        for submission, error in expanded(item):
            try:
                if error is not None:
                    raise error
                batch.check(submission)
                yield result_of(index, intake.accept(namespace_id, submission))
            except IngestError as refused:
                yield rejection(index, refused, source_uri=intake.identity(submission))
