"""The query log, written in the background so that responses do not wait for it."""

import hashlib
import hmac
import json
import logging
import random
import re
import threading
import time
import uuid
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields
from datetime import timedelta
from functools import cache, partial
from typing import Any

from django.conf import settings
from django.db import Error as DatabaseError
from django.db import connection
from django.db.models import Q
from django.db.models.functions import Now
from django.utils import timezone

from documents.metadata import storable, text
from documents.text.redaction import redacted
from ragsite.database.tenancy import namespace
from ragsite.platform.logs import current_request_id

from .models import QueryLog
from .requests import Hit, SearchRequest, SearchResult

logger = logging.getLogger(__name__)

MAX_WAITING = 1000  # rows; more are dropped, so that the log cannot fill the memory
BATCH_SECONDS = 1.0  # rows are collected this long and written together
MAX_DELAY = 2 * BATCH_SECONDS  # seconds; a row not written by then never will be
POLL_SECONDS = 0.1

REWRITE_BATCH = 500  # rows
HASH_PREFIX = "sha256:"
_HASHED = re.compile(r"sha256:[0-9a-f]{64}")
MAX_RETURNED = 50  # number of hits whose positions are stored

# Stored in columns of their own, or not needed to ask the question again.
_NOT_KEPT = {"query", "filters", "k", "mode", "fusion", "explain", "highlight", "facts", "speakers"}
# Options that a row stores if they differ from the default.
_DEFAULTS: dict[str, Any] = {
    field.name: field.default for field in fields(SearchRequest) if field.name not in _NOT_KEPT
}

LogRow = dict[str, Any]  # by column name

# One JSON parameter, because building a statement for hundreds of rows in Django takes as long as
# answering that many queries from the cache.
_INSERT = """
    INSERT INTO retrieval_querylog
    SELECT * FROM jsonb_populate_recordset(NULL::retrieval_querylog, %s::jsonb)
"""

_waiting: list[LogRow] = []
_lock = threading.Lock()
_flush_now = threading.Event()


def note(
    namespace_id: uuid.UUID, request: SearchRequest, result: SearchResult, *, filters: Any
) -> uuid.UUID | None:
    """Queue a row for the writer thread. `filters` are as the client sent them.

    Returns the id that the row will have, which feedback refers to; None if no row is written.
    """
    if settings.QUERY_LOG_DAYS <= 0 or not _is_sampled():
        return None
    row = _row(namespace_id, current_request_id(), request, result, filters)
    with _lock:
        if len(_waiting) == MAX_WAITING:
            return None
        _waiting.append(row)
        is_first = len(_waiting) == 1
    if is_first:
        _writer().submit(_write_all)
    query_id: uuid.UUID = row["id"]
    return query_id


def find(namespace_id: uuid.UUID, query_id: uuid.UUID) -> QueryLog | None:
    """Return the namespace's row with that id, even if it is not written yet. Rows queued here are
    written now; if another process may have queued it, wait for it while the id is recent."""
    if row := _written(namespace_id, query_id):
        return row
    flush()
    while (row := _written(namespace_id, query_id)) is None and _is_recent(query_id):
        time.sleep(POLL_SECONDS)
    return row


def _written(namespace_id: uuid.UUID, query_id: uuid.UUID) -> QueryLog | None:
    with namespace(namespace_id):
        return QueryLog.objects.filter(pk=query_id).first()


def _new_id() -> uuid.UUID:
    """Return a version 7 UUID (RFC 9562). It starts with its time in milliseconds, which shows
    whether its row may still be unwritten."""
    milliseconds = time.time_ns() // 1_000_000
    return uuid.UUID(int=milliseconds << 80 | 7 << 76 | uuid.uuid4().int & (1 << 76) - 1)


def _is_recent(query_id: uuid.UUID) -> bool:
    """Whether the id was made in the last seconds, or the next ones by another machine's clock."""
    age = time.time() - (query_id.int >> 80) / 1000
    return query_id.version == 7 and -MAX_DELAY < age < MAX_DELAY


def _row(
    namespace_id: uuid.UUID,
    request_id: str,
    request: SearchRequest,
    result: SearchResult,
    filters: Any,
) -> LogRow:
    diagnostics = result.diagnostics
    question, filters = loggable(namespace_id, text(request.query), storable(filters or {}))
    return {
        "id": _new_id(),
        "namespace_id": namespace_id,
        "request_id": request_id,
        "query": question,
        "filters": filters,
        "options": {
            "k": request.k,
            "mode": request.mode,
            "fusion": request.fusion,
            "reranker": diagnostics.reranker,
            "changed": _changed(request),
            **_marker(),
        },
        "hits": len(result.hits),
        "returned": [_place(hit) for hit in result.hits[:MAX_RETURNED] if hit.fact is None],
        "relevance": result.relevance,
        "best_vector": _best(hit.candidate.similarity for hit in result.hits),
        "best_lexical": _best(hit.candidate.lexical for hit in result.hits),
        "cache": result.cache,
        "fallbacks": diagnostics.fallbacks,
        "times_ms": diagnostics.times_ms,
        "created_at": timezone.now(),
    }


def _is_sampled() -> bool:
    share: float = settings.QUERY_LOG_PRIVACY["sample"]
    return share >= 1 or random.random() < share  # noqa: S311 (nothing is secret about it)


def loggable(namespace_id: uuid.UUID, question: str, filters: Any) -> tuple[str, Any]:
    """Return the question and its filters as QUERY_LOG_TEXT allows them to be stored."""
    privacy = settings.QUERY_LOG_PRIVACY
    if is_hashed(question):
        return question, filters
    if privacy["text"] == "hash":
        return _hashed(namespace_id, question), {}
    if privacy["text"] == "redacted":
        redact = partial(redacted, names=privacy["redact"], further=privacy["pattern"])
        return redact(question), _redacted_values(filters, redact)
    return question, filters


def _hashed(namespace_id: uuid.UUID, question: str) -> str:
    """Equal questions in a namespace have equal hashes. The hash is keyed, because questions can be
    guessed."""
    key = hashlib.sha256(f"query log {namespace_id} {settings.SECRET_KEY}".encode()).digest()
    folded = " ".join(question.casefold().split())
    return HASH_PREFIX + hmac.new(key, folded.encode(errors="replace"), "sha256").hexdigest()


def is_hashed(question: str) -> bool:
    """Whether only the question's hash was kept."""
    return bool(_HASHED.fullmatch(question))


def _redacted_values(value: Any, redact: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, dict):
        return {name: _redacted_values(each, redact) for name, each in value.items()}
    if isinstance(value, list):
        return [_redacted_values(each, redact) for each in value]
    return value


def _marker() -> dict[str, str]:
    """Return how the row's text was reduced; {} if it is complete. Rows are rewritten when this
    changes."""
    privacy = settings.QUERY_LOG_PRIVACY
    if privacy["text"] == "full":
        return {}
    if privacy["text"] == "hash":
        return {"kept": "hash"}
    pattern = privacy["pattern"].pattern if privacy["pattern"] else ""
    rules = hashlib.sha256(f"{sorted(privacy['redact'])} {pattern}".encode()).hexdigest()
    return {"kept": f"redacted {rules[:12]}"}


def _place(hit: Hit) -> dict[str, Any]:
    """Return the position of a hit. Its text and title are looked up when the log is read."""
    return {
        "document": hit.candidate.document_id,
        "chunk": hit.candidate.chunk_id,
        "start": hit.start,
        "end": hit.end,
        "relevance": hit.relevance,
    }


def _changed(request: SearchRequest) -> dict[str, Any]:
    """Return the options that differ from the defaults, so that the question can be asked again."""
    return {
        name: value
        for name, default in _DEFAULTS.items()
        if (value := getattr(request, name)) != default
    }


def asked_again(row: QueryLog) -> dict[str, Any]:
    """Return the options of a logged question, as fields of SearchRequest. Old rows have only some
    of them."""
    options = {name: row.options[name] for name in ("k", "mode", "fusion") if name in row.options}
    options |= {k: v for k, v in row.options.get("changed", {}).items() if k in _DEFAULTS}
    if "thresholds" in options:
        options["thresholds"] = tuple((stage, least) for stage, least in options["thresholds"])
    return options


def _best(scores: Any) -> float | None:
    best: float | None = max((score for score in scores if score is not None), default=None)
    return best


def flush() -> None:
    """Write the queued rows now."""
    _flush_now.set()
    _writer().submit(lambda: None).result()


def _write_all() -> None:
    _flush_now.wait(BATCH_SECONDS)
    _flush_now.clear()
    with _lock:
        rows = list(_waiting)
        _waiting.clear()
    try:
        for namespace_id in dict.fromkeys(row["namespace_id"] for row in rows):
            _write(namespace_id, [row for row in rows if row["namespace_id"] == namespace_id])
    finally:
        connection.close()  # back to the pool, for requests


def _write(namespace_id: uuid.UUID, rows: Sequence[LogRow]) -> None:
    try:
        with namespace(namespace_id), connection.cursor() as cursor:
            # Losing a row in a power cut is better than waiting for the disk.
            cursor.execute("SET LOCAL synchronous_commit = off")
            cursor.execute(_INSERT, [json.dumps(rows, default=str)])
    except DatabaseError:
        logger.warning("query_log.failed", exc_info=True)


@cache
def _writer() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(1, "query-log")


def delete_old_rows() -> None:
    """Delete rows older than QUERY_LOG_DAYS, and apply today's QUERY_LOG_TEXT to the rest; called
    by housekeeping."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT namespace_id FROM ragsite.namespace_ids()")
        tenants = [row[0] for row in cursor.fetchall()]
    too_old = Now() - timedelta(days=settings.QUERY_LOG_DAYS)
    for namespace_id in tenants:
        with namespace(namespace_id):
            QueryLog.objects.filter(created_at__lt=too_old).delete()
        if settings.QUERY_LOG_PRIVACY["text"] != "full":
            _rewrite(namespace_id)


def _rewrite(namespace_id: uuid.UUID) -> None:
    """Reduce rows that were written under less strict rules, in batches."""
    marker = _marker()
    written_otherwise = ~Q(options__kept=marker["kept"]) | Q(options__kept__isnull=True)
    rows = QueryLog.objects.filter(written_otherwise).only("query", "filters", "options")
    while True:
        with namespace(namespace_id):
            batch = list(rows[:REWRITE_BATCH])
            for row in batch:
                row.query, row.filters = loggable(namespace_id, row.query, row.filters)
                row.options = {**row.options, **marker}
            QueryLog.objects.bulk_update(batch, ["query", "filters", "options"])
        if len(batch) < REWRITE_BATCH:
            return
