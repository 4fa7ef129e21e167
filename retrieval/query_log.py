"""Writing down what was asked, beside the request: the answer does not wait for it."""

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
from ragsite.logs import current_request_id
from ragsite.tenancy import namespace

from .models import QueryLog
from .requests import SearchRequest, SearchResult

logger = logging.getLogger(__name__)

MOST_WAITING = 1000  # lines; beyond, they are dropped: a log must not eat the memory
GATHERING = 1.0  # seconds that lines are gathered for, to be written at once

_waiting: list[QueryLog] = []
_lock = threading.Lock()


def note(
    namespace_id: uuid.UUID, request: SearchRequest, result: SearchResult, *, filters: Any
) -> None:
    """Leave the line for the one thread that writes. `filters`: as they were sent."""
    if settings.QUERY_LOG_DAYS <= 0:
        return
    line = _line(namespace_id, current_request_id(), request, result, filters)
    with _lock:
        if len(_waiting) == MOST_WAITING:
            return
        _waiting.append(line)
        is_first = len(_waiting) == 1
    if is_first:
        _writer().submit(_write_all)


def _line(
    namespace_id: uuid.UUID,
    request_id: str,
    request: SearchRequest,
    result: SearchResult,
    filters: Any,
) -> QueryLog:
    told = result.diagnostics
    return QueryLog(
        namespace_id=namespace_id,
        request_id=request_id,
        query=text(request.query),
        filters=storable(filters or {}),
        options={
            "k": request.k,
            "mode": request.mode,
            "fusion": request.fusion,
            "reranker": told.reranker,
        },
        hits=len(result.hits),
        best_vector=_best(hit.candidate.vector for hit in result.hits),
        best_lexical=_best(hit.candidate.lexical for hit in result.hits),
        cache=result.cache,
        fallbacks=list(told.fallbacks),
        times_ms=dict(told.times_ms),
        created_at=timezone.now(),
    )


def _best(scores: Any) -> float | None:
    best: float | None = max((score for score in scores if score is not None), default=None)
    return best


def flush() -> None:
    """Return when what was noted so far is written."""
    _writer().submit(lambda: None).result()


def _write_all() -> None:
    time.sleep(GATHERING)
    with _lock:
        lines = list(_waiting)
        _waiting.clear()
    try:
        for namespace_id in dict.fromkeys(line.namespace_id for line in lines):
            _write(namespace_id, [line for line in lines if line.namespace_id == namespace_id])
    finally:
        connection.close()  # back to the pool: it is there for requests


def _write(namespace_id: uuid.UUID, lines: Sequence[QueryLog]) -> None:
    try:
        with namespace(namespace_id):
            with connection.cursor() as cursor:
                # A line that a power cut loses was not worth waiting for the disk.
                cursor.execute("SET LOCAL synchronous_commit = off")
            QueryLog.objects.bulk_create(lines)
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
