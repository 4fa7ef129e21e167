"""The figures of the dashboard. Inside operator(); `visible` limits them to some namespaces."""

import shutil
import uuid
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import connections
from django.db.models import Count, QuerySet, Sum
from django.utils import timezone

from documents.models import IndexProfile, Namespace, NamespaceUsage
from documents.profiles.vector_indexes import PREFIX
from evaluation.measures import metrics
from evaluation.models import EvaluationRun

Visible = Collection[uuid.UUID] | None

NEWEST = 20_000  # maximum number of questions of a namespace for percentiles
PROFILES_SHOWN = 8
MEASURES = ("ndcg@10", metrics.ANSWER, "recall@10")

# By namespace, because the log's index has this order.
_QUESTIONS = """
    WITH asked AS (
        SELECT log.created_at, (log.times_ms ->> 'total')::float8 AS ms
        FROM documents_namespace namespace CROSS JOIN LATERAL (
            SELECT created_at, times_ms FROM retrieval_querylog
            WHERE namespace_id = namespace.id AND created_at >= %(since)s
            ORDER BY created_at DESC, id DESC LIMIT %(newest)s
        ) log
        WHERE %(visible)s::uuid[] IS NULL OR namespace.id = ANY (%(visible)s::uuid[])
    )
    SELECT date_bin(%(step)s, created_at, %(since)s) AS start, count(*),
           percentile_cont(0.5) WITHIN GROUP (ORDER BY ms),
           percentile_cont(0.95) WITHIN GROUP (ORDER BY ms)
    FROM asked GROUP BY ROLLUP (start) ORDER BY start
"""

_SIZES = """
    SELECT pg_database_size(current_database()),
           pg_table_size('documents_chunk'),
           pg_indexes_size('documents_chunk'),
           pg_total_relation_size('documents_chunkterms'),
           (SELECT coalesce(sum(pg_relation_size(index.indexrelid)), 0) FROM pg_index index
            JOIN pg_class class ON class.oid = index.indexrelid
            WHERE index.indrelid = 'documents_chunk'::regclass
              AND starts_with(class.relname, %(prefix)s))
"""


@dataclass(frozen=True, slots=True)
class Period:
    name: str
    label: str
    step: timedelta
    steps: int

    def since(self, now: datetime) -> datetime:
        """Return the start of the first step; the last step has just begun."""
        start = now.replace(minute=0, second=0, microsecond=0)
        if self.step >= timedelta(days=1):
            start = start.replace(hour=0)
        return start - (self.steps - 1) * self.step


PERIODS = {
    "day": Period("day", "24 hours", timedelta(hours=1), 24),
    "fortnight": Period("fortnight", "14 days", timedelta(days=1), 14),
}


@dataclass(frozen=True, slots=True)
class QuestionCount:
    """The questions of one step, or of a whole period."""

    start: datetime | None  # None: of the whole period
    count: int
    p50: float | None = None
    p95: float | None = None

    @property
    def is_cut_off(self) -> bool:
        """Whether questions were left out, because only the newest ones of a busy namespace are
        counted."""
        return self.count >= NEWEST


@dataclass(frozen=True, slots=True)
class MeasureChange:
    name: str
    mean: float
    change: float | None  # change since the previous run; None without one


@dataclass(frozen=True, slots=True)
class LastRun:
    run: EvaluationRun
    before: EvaluationRun | None  # the previous run of the same golden set
    measures: list[MeasureChange]


@dataclass(frozen=True, slots=True)
class Storage:
    """Sizes in bytes. `disk_share` is the used fraction of the disk that the service writes to."""

    disk_free: int
    disk_share: float
    database: int
    chunks: int
    vector_indexes: int
    words: int
    originals: int

    @property
    def is_short(self) -> bool:
        return self.disk_share > 0.9


@dataclass(frozen=True, slots=True)
class ProfileUse:
    profile: IndexProfile
    namespaces: int
    chunks: int


def questions(period: Period, visible: Visible) -> tuple[list[QuestionCount], QuestionCount]:
    """Return each step of the period, including empty ones, and the whole period."""
    since = period.since(timezone.now())
    parameters: dict[str, Any] = {
        "since": since,
        "step": period.step,
        "newest": NEWEST,
        "visible": None if visible is None else list(visible),
    }
    with connections["operator"].cursor() as cursor:
        cursor.execute(_QUESTIONS, parameters)
        found = {row[0]: QuestionCount(*row) for row in cursor.fetchall()}
    starts = [since + number * period.step for number in range(period.steps)]
    return [found.get(start, QuestionCount(start, 0)) for start in starts], found.get(
        None, QuestionCount(None, 0)
    )


def last_run(visible: Visible) -> LastRun | None:
    runs = _visible(EvaluationRun.objects.filter(state="succeeded"), visible)
    newest = runs.select_related("golden_set", "namespace").order_by("-created_at", "-id").first()
    if newest is None:
        return None
    earlier = runs.filter(golden_set=newest.golden_set_id, created_at__lt=newest.created_at)
    before = earlier.order_by("-created_at", "-id").first()
    return LastRun(newest, before, [_measure(name, newest, before) for name in _shown(newest)])


def _shown(run: EvaluationRun) -> list[str]:
    return [name for name in MEASURES if name in run.metrics]


def _measure(name: str, run: EvaluationRun, before: EvaluationRun | None) -> MeasureChange:
    mean = run.metrics[name]["mean"]
    known = before is not None and name in before.metrics
    change = mean - before.metrics[name]["mean"] if before is not None and known else None
    return MeasureChange(name, mean, change)


def storage() -> Storage:
    """Return figures of the whole installation."""
    with connections["operator"].cursor() as cursor:
        cursor.execute(_SIZES, {"prefix": PREFIX})
        database, table, indexes, words, vectors = cursor.fetchone()
    disk = shutil.disk_usage(settings.HOME)
    originals = NamespaceUsage.objects.aggregate(bytes=Sum("bytes"))["bytes"] or 0
    return Storage(
        disk_free=disk.free,
        disk_share=disk.used / disk.total,
        database=database,
        chunks=table + indexes - int(vectors),
        vector_indexes=int(vectors),
        words=words,
        originals=int(originals),
    )


def profiles(visible: Visible) -> list[ProfileUse]:
    """Return the profiles that searches use, sorted by the number of chunks."""
    namespaces = _visible(Namespace.objects.all(), visible, "pk")
    used = (
        namespaces.order_by()
        .values("active_profile")
        .annotate(namespaces=Count("pk"), chunks=Sum("chunk_count"))
    )
    rows = list(used.order_by("-chunks")[:PROFILES_SHOWN])
    known = IndexProfile.objects.in_bulk([row["active_profile"] for row in rows])
    return [
        ProfileUse(known[row["active_profile"]], row["namespaces"], row["chunks"])
        for row in rows
        if row["active_profile"] in known
    ]


def _visible(rows: QuerySet[Any], visible: Visible, field: str = "namespace") -> QuerySet[Any]:
    return rows if visible is None else rows.filter(**{f"{field}__in": visible})
