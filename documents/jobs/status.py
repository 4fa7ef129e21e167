"""How much work is queued, what failed, and whether workers are alive, for operators."""

import uuid
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import connections
from django.db.models import QuerySet
from django.utils import timezone
from django_q.models import OrmQ

from documents.models import Document, DocumentRemoval, IngestJob, NamespaceUsage, WorkerHeartbeat

SILENT_AFTER = 60.0  # seconds, as in /readyz
COUNTED = 10_000  # rows; more are shown as "10,000+"
WORKERS_SHOWN = 10
GONE_AFTER = 600.0  # seconds; a group of workers that is silent for longer has been stopped

# Each count ends early and reads one index (document_not_ready, job_waiting, job_leased).
_COUNT = "(SELECT count(*) FROM (SELECT FROM {table} WHERE {condition} {visible} LIMIT %(most)s) x)"
_FAILURES = """
    SELECT error_code, count(*) FROM (
        SELECT error_code FROM documents_ingestjob
        WHERE state = 'failed' AND finished_at > now() - interval '1 day' {visible}
        LIMIT %(most)s
    ) failed GROUP BY error_code ORDER BY count(*) DESC, error_code
"""
_VISIBLE = "AND namespace_id = ANY (%(visible)s::uuid[])"


@dataclass(frozen=True, slots=True)
class BoundedCount:
    """A number of rows, counted up to a bound."""

    rows: int
    is_more: bool = False

    @classmethod
    def of(cls, rows: int) -> "BoundedCount":
        return cls(min(rows, COUNTED), is_more=rows > COUNTED)

    def __str__(self) -> str:
        return f"{self.rows:,}+" if self.is_more else f"{self.rows:,}"


@dataclass(frozen=True, slots=True)
class Worker:
    name: str
    beaten_at: datetime
    is_silent: bool


@dataclass(frozen=True, slots=True)
class WorkStatus:
    documents: dict[str, BoundedCount]  # by status
    waiting: BoundedCount
    running: BoundedCount
    oldest_waiting: datetime | None
    failures: list[tuple[str, int]]  # of the last 24 hours, by error code
    deletions: int
    queue_length: int
    workers: list[Worker]

    @property
    def are_silent(self) -> bool:
        return all(worker.is_silent for worker in self.workers)

    @property
    def failed(self) -> BoundedCount:
        return BoundedCount.of(sum(count for _, count in self.failures))


def work_status(visible: Collection[uuid.UUID] | None = None) -> WorkStatus:
    """The work of these namespaces; None: of all. Inside operator()."""
    counts = _counts(visible)
    return WorkStatus(
        documents=_documents(counts, visible),
        waiting=BoundedCount.of(counts["waiting"]),
        running=BoundedCount.of(counts["running"]),
        oldest_waiting=_of(visible, IngestJob.objects.filter(state="queued"))
        .order_by("created_at")
        .values_list("created_at", flat=True)
        .first(),
        failures=_failures(visible),
        deletions=_of(visible, DocumentRemoval.objects.exclude(state="done")).count(),
        queue_length=OrmQ.objects.count(),
        workers=_workers(),
    )


def _counts(visible: Collection[uuid.UUID] | None) -> dict[str, int]:
    unfinished = [status for status in Document.Status.values if status != Document.Status.READY]
    wanted = {status: ("documents_document", f"status = '{status}'") for status in unfinished}
    wanted["waiting"] = ("documents_ingestjob", "state = 'queued'")
    wanted["running"] = ("documents_ingestjob", "state = 'running'")
    counts = [
        _COUNT.format(table=table, condition=condition, visible="{visible}")
        for table, condition in wanted.values()
    ]
    (row,) = _read("SELECT " + ", ".join(counts), visible)
    return dict(zip(wanted, row, strict=True))


def _documents(
    counts: dict[str, int], visible: Collection[uuid.UUID] | None
) -> dict[str, BoundedCount]:
    """Ready documents are not counted: they are the total without the others."""
    usage = NamespaceUsage.objects.all()
    if visible is not None:
        usage = usage.filter(namespace__in=visible)
    total = sum(usage.values_list("documents", flat=True))
    others = {status: counts[status] for status in Document.Status.values if status in counts}
    is_bounded = any(count > COUNTED for count in others.values())
    ready = BoundedCount(max(0, total - sum(others.values())), is_more=is_bounded)
    return {
        Document.Status.READY.value: ready,
        **{status: BoundedCount.of(count) for status, count in others.items()},
    }


def _failures(visible: Collection[uuid.UUID] | None) -> list[tuple[str, int]]:
    return [(code, count) for code, count in _read(_FAILURES, visible)]


def _workers() -> list[Worker]:
    late = timezone.now() - timedelta(seconds=SILENT_AFTER)
    gone = timezone.now() - timedelta(seconds=GONE_AFTER)
    newest = list(WorkerHeartbeat.objects.order_by("-beaten_at")[:WORKERS_SHOWN])
    beats = [beat for beat in newest if beat.beaten_at > gone] or newest[:1]
    return [Worker(beat.worker, beat.beaten_at, is_silent=beat.beaten_at < late) for beat in beats]


def _of(visible: Collection[uuid.UUID] | None, rows: QuerySet[Any]) -> QuerySet[Any]:
    return rows if visible is None else rows.filter(namespace__in=visible)


def _clause(visible: Collection[uuid.UUID] | None) -> str:
    return "" if visible is None else _VISIBLE


def _read(statement: str, visible: Collection[uuid.UUID] | None) -> list[tuple[Any, ...]]:
    parameters: dict[str, Any] = {"most": COUNTED + 1, "visible": list(visible or ())}
    with connections["operator"].cursor() as cursor:
        cursor.execute(statement.format(visible=_clause(visible)), parameters)
        rows: list[tuple[Any, ...]] = cursor.fetchall()
    return rows
