"""Writing down what was asked, beside the request: the answer does not wait for it."""

import json
import logging
import threading
import time
import uuid
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from functools import cache
from typing import Any

from django.conf import settings
from django.db import Error as DatabaseError
from django.db import connection
from django.db.models.functions import Now
from django.utils import timezone

from documents.metadata import storable, text
from ragsite.database.tenancy import namespace
from ragsite.platform.logs import current_request_id

from .models import QueryLog
from .requests import SearchRequest, SearchResult

logger = logging.getLogger(__name__)

MAX_WAITING = 1000  # lines; beyond, they are dropped: a log must not eat the memory
GATHERING = 1.0  # seconds that lines are gathered for, to be written at once
ON_ITS_WAY = 2 * GATHERING  # seconds after which a line is written, or never will be
LOOK_AGAIN = 0.1  # seconds

LogRow = dict[str, Any]  # by the table's columns

# From one parameter, as JSON: for Django to put hundreds of rows into a statement takes as long as
# it takes to answer that many questions from the cache.
_INSERT = """
    INSERT INTO retrieval_querylog
    SELECT * FROM jsonb_populate_recordset(NULL::retrieval_querylog, %s::jsonb)
"""

_waiting: list[LogRow] = []
_lock = threading.Lock()
_hurry = threading.Event()


def note(
    namespace_id: uuid.UUID, request: SearchRequest, result: SearchResult, *, filters: Any
) -> uuid.UUID | None:
    """Leave the line for the one thread that writes. `filters`: as they were sent.

    Returns the id that the line will have, for the client to come back with; none without a line.
    """
    if settings.QUERY_LOG_DAYS <= 0:
        return None
    line = _line(namespace_id, current_request_id(), request, result, filters)
    with _lock:
        if len(_waiting) == MAX_WAITING:
            return None
        _waiting.append(line)
        is_first = len(_waiting) == 1
    if is_first:
        _writer().submit(_write_all)
    query_id: uuid.UUID = line["id"]
    return query_id


def find(namespace_id: uuid.UUID, query_id: uuid.UUID) -> QueryLog | None:
    """The namespace's line of that id, also while it is on its way: one that waits here is written
    now, one that another process has noted is waited for, as long as its id is that young."""
    if line := _written(namespace_id, query_id):
        return line
    flush()
    while (line := _written(namespace_id, query_id)) is None and _is_young(query_id):
        time.sleep(LOOK_AGAIN)
    return line


def _written(namespace_id: uuid.UUID, query_id: uuid.UUID) -> QueryLog | None:
    with namespace(namespace_id):
        return QueryLog.objects.filter(pk=query_id).first()


def _new_id() -> uuid.UUID:
    """A version 7 UUID (RFC 9562): it begins with the millisecond it was made in, so that an id
    tells whether its line can still be on its way."""
    milliseconds = time.time_ns() // 1_000_000
    return uuid.UUID(int=milliseconds << 80 | 7 << 76 | uuid.uuid4().int & (1 << 76) - 1)


def _is_young(query_id: uuid.UUID) -> bool:
    """Made within the last moments; or in the next ones, by another machine's clock."""
    age = time.time() - (query_id.int >> 80) / 1000
    return query_id.version == 7 and -ON_ITS_WAY < age < ON_ITS_WAY


def _line(
    namespace_id: uuid.UUID,
    request_id: str,
    request: SearchRequest,
    result: SearchResult,
    filters: Any,
) -> LogRow:
    told = result.diagnostics
    return {
        "id": _new_id(),
        "namespace_id": namespace_id,
        "request_id": request_id,
        "query": text(request.query),
        "filters": storable(filters or {}),
        "options": {
            "k": request.k,
            "mode": request.mode,
            "fusion": request.fusion,
            "reranker": told.reranker,
        },
        "hits": len(result.hits),
        "best_vector": _best(hit.candidate.similarity for hit in result.hits),
        "best_lexical": _best(hit.candidate.lexical for hit in result.hits),
        "cache": result.cache,
        "fallbacks": told.fallbacks,
        "times_ms": told.times_ms,
        "created_at": timezone.now(),
    }


def _best(scores: Any) -> float | None:
    best: float | None = max((score for score in scores if score is not None), default=None)
    return best


def flush() -> None:
    """Return when what was noted so far is written, which is now begun with."""
    _hurry.set()
    _writer().submit(lambda: None).result()


def _write_all() -> None:
    _hurry.wait(GATHERING)
    _hurry.clear()
    with _lock:
        lines = list(_waiting)
        _waiting.clear()
    try:
        for namespace_id in dict.fromkeys(line["namespace_id"] for line in lines):
            _write(namespace_id, [line for line in lines if line["namespace_id"] == namespace_id])
    finally:
        connection.close()  # back to the pool: it is there for requests


def _write(namespace_id: uuid.UUID, lines: Sequence[LogRow]) -> None:
    try:
        with namespace(namespace_id), connection.cursor() as cursor:
            # A line that a power cut loses was not worth waiting for the disk.
            cursor.execute("SET LOCAL synchronous_commit = off")
            cursor.execute(_INSERT, [json.dumps(lines, default=str)])
    except DatabaseError:
        logger.warning("query_log.failed", exc_info=True)


@cache
def _writer() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(1, "query-log")


def forget_the_old() -> None:
    """Somebody has to call this now and then."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT namespace_id FROM ragsite.namespace_ids()")
        tenants = [row[0] for row in cursor.fetchall()]
    too_old = Now() - timedelta(days=settings.QUERY_LOG_DAYS)
    for namespace_id in tenants:
        with namespace(namespace_id):
            QueryLog.objects.filter(created_at__lt=too_old).delete()
