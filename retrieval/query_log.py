"""Writing down what was asked, beside the request: the answer does not wait for it."""

import logging
import threading
import uuid
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from functools import cache
from typing import Any

from django.conf import settings
from django.db import Error as DatabaseError
from django.db import connection
from django.db.models.functions import Now

from documents.metadata import storable, text
from ragsite.logs import current_request_id
from ragsite.tenancy import namespace

from .models import QueryLog
from .requests import SearchRequest, SearchResult

logger = logging.getLogger(__name__)

MOST_WAITING = 1000  # lines; beyond, they are dropped: a log must not eat the memory

_waiting = threading.BoundedSemaphore(MOST_WAITING)


def note(
    namespace_id: uuid.UUID, request: SearchRequest, result: SearchResult, *, filters: Any
) -> None:
    """Put the line in the queue of the one thread that writes. `filters`: as they were sent."""
    if settings.QUERY_LOG_DAYS <= 0 or not _waiting.acquire(blocking=False):
        return
    future = _writer().submit(_write, namespace_id, current_request_id(), request, result, filters)
    future.add_done_callback(lambda _: _waiting.release())


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
    )


def _best(scores: Any) -> float | None:
    best: float | None = max((score for score in scores if score is not None), default=None)
    return best


def flush() -> None:
    """Return when what was noted so far is written."""
    _writer().submit(lambda: None).result()


def _write(namespace_id: uuid.UUID, *about: Any) -> None:
    try:
        with namespace(namespace_id):
            with connection.cursor() as cursor:
                # A line that a power cut loses was not worth waiting for the disk.
                cursor.execute("SET LOCAL synchronous_commit = off")
            _line(namespace_id, *about).save(force_insert=True)
    except DatabaseError:
        logger.warning("query_log.failed", exc_info=True)
    finally:
        connection.close()  # back to the pool: it is there for requests


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
