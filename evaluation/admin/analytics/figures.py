"""The figures. Inside operator(); `visible` limits them to some namespaces.

Only the newest questions of each namespace are counted, up to a bound, because the log's index has
this order.
"""

import uuid
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import connections
from django.db.models import QuerySet, Sum

from documents.models import EmbeddingUsage, LanguageModelUsage

Visible = Collection[uuid.UUID] | None

LOW = 0.3  # relevance of the best hit
NEWEST = 20_000  # maximum number of questions of a namespace
TOP_DOCUMENTS = 10
FIRST_HITS = 3  # a document counts as found if it is among the first hits
COUNTED = 10_000  # documents that were never found; more are shown as 10,000+
MODELS_SHOWN = 12

# The common beginning of the next three statements.
_ASKED = """
    WITH asked AS MATERIALIZED (
        SELECT log.* FROM documents_namespace namespace CROSS JOIN LATERAL (
            SELECT id, namespace_id, created_at, hits, relevance, cache, fallbacks, returned,
                   (times_ms ->> 'total')::float8 AS ms
            FROM retrieval_querylog
            WHERE namespace_id = namespace.id AND created_at >= %(since)s
            ORDER BY created_at DESC, id DESC LIMIT %(newest)s
        ) log
        WHERE %(visible)s::uuid[] IS NULL OR namespace.id = ANY (%(visible)s::uuid[])
    )
"""

_BY_DAY = """
    SELECT date_bin('1 day', created_at, %(since)s) AS start, count(*),
           count(*) FILTER (WHERE hits = 0),
           count(*) FILTER (WHERE hits > 0 AND relevance < %(low)s),
           count(*) FILTER (WHERE cache = 'hit'),
           count(*) FILTER (WHERE jsonb_array_length(fallbacks) > 0),
           count(*) FILTER (WHERE EXISTS (
               SELECT FROM evaluation_feedback feedback
               WHERE feedback.namespace_id = asked.namespace_id
                 AND feedback.query_log_id = asked.id)),
           percentile_cont(0.5) WITHIN GROUP (ORDER BY ms),
           percentile_cont(0.95) WITHIN GROUP (ORDER BY ms),
           percentile_cont(0.99) WITHIN GROUP (ORDER BY ms)
    FROM asked GROUP BY ROLLUP (start) ORDER BY start
"""

_TOP = """
    , found AS (
        SELECT (hit.place ->> 'document')::uuid AS id, asked.id AS question, hit.rank
        FROM asked CROSS JOIN LATERAL
             jsonb_array_elements(coalesce(asked.returned, '[]')) WITH ORDINALITY hit (place, rank)
        WHERE hit.rank <= %(first)s
    )
    SELECT document.id, document.title, document.source_uri, namespace.slug,
           count(DISTINCT found.question) AS questions
    FROM found
    JOIN documents_document document ON document.id = found.id
    JOIN documents_namespace namespace ON namespace.id = document.namespace_id
    GROUP BY document.id, namespace.slug ORDER BY questions DESC, document.id LIMIT %(limit)s
"""

_NEVER = """
    , found AS MATERIALIZED (
        SELECT DISTINCT (place ->> 'document')::uuid AS id
        FROM asked CROSS JOIN LATERAL jsonb_array_elements(coalesce(asked.returned, '[]')) place
    ), never AS MATERIALIZED (
        SELECT document.id, document.title, document.source_uri, document.namespace_id
        FROM documents_document document
        WHERE document.live_version IS NOT NULL AND document.created_at < %(since)s
          AND (%(visible)s::uuid[] IS NULL OR document.namespace_id = ANY (%(visible)s::uuid[]))
          AND NOT EXISTS (SELECT FROM found WHERE found.id = document.id)
        LIMIT %(counted)s
    )
    SELECT never.id, never.title, never.source_uri, namespace.slug,
           (SELECT count(*) FROM never)
    FROM never JOIN documents_namespace namespace ON namespace.id = never.namespace_id
    ORDER BY never.source_uri, never.id LIMIT %(limit)s
"""

_FEEDBACK = """
    SELECT count(*), count(*) FILTER (WHERE useful), count(*) FILTER (WHERE NOT useful),
           count(*) FILTER (WHERE cardinality(selected_chunk_ids) > 0)
    FROM documents_namespace namespace CROSS JOIN LATERAL (
        SELECT useful, selected_chunk_ids FROM evaluation_feedback
        WHERE namespace_id = namespace.id AND created_at >= %(since)s
        ORDER BY created_at DESC, id DESC LIMIT %(newest)s
    ) feedback
    WHERE %(visible)s::uuid[] IS NULL OR namespace.id = ANY (%(visible)s::uuid[])
"""


@dataclass(frozen=True, slots=True)
class DayFigures:
    """The figures of one day or, if its start is None, of a whole period."""

    start: datetime | None
    questions: int = 0
    empty: int = 0
    low: int = 0
    cached: int = 0
    fell_back: int = 0
    with_feedback: int = 0
    p50: float | None = None
    p95: float | None = None
    p99: float | None = None

    def share(self, part: int) -> float:
        return part / self.questions if self.questions else 0.0


@dataclass(frozen=True, slots=True)
class FoundDocument:
    id: uuid.UUID
    title: str
    source_uri: str
    namespace: str
    questions: int = 0

    @property
    def name(self) -> str:
        return self.title or self.source_uri


@dataclass(frozen=True, slots=True)
class NeverFound:
    """Documents that are older than the period and were in none of its results."""

    count: int
    first: list[FoundDocument]

    @property
    def shown(self) -> str:
        return f"{COUNTED:,}+" if self.count > COUNTED else f"{self.count:,}"


@dataclass(frozen=True, slots=True)
class FeedbackCount:
    all: int
    useful: int
    not_useful: int
    with_selection: int


@dataclass(frozen=True, slots=True)
class ModelUse:
    kind: str  # "embedding" or "language model"
    model: str
    tokens: int
    cost: float


@dataclass(frozen=True, slots=True)
class Scope:
    """The namespaces and the days that the figures cover."""

    visible: Visible
    since: datetime

    def parameters(self, **further: Any) -> dict[str, Any]:
        visible = None if self.visible is None else list(self.visible)
        return {"visible": visible, "since": self.since, "newest": NEWEST, **further}

    def rows(self, statement: str, **further: Any) -> list[tuple[Any, ...]]:
        with connections["operator"].cursor() as cursor:
            cursor.execute(statement, self.parameters(**further))
            return cursor.fetchall()


def by_day(scope: Scope, days: int, *, low: float) -> tuple[list[DayFigures], DayFigures]:
    """Return each day, including empty ones, and the whole period."""
    found = {row[0]: DayFigures(*row) for row in scope.rows(_ASKED + _BY_DAY, low=low)}
    starts = [scope.since + timedelta(days=number) for number in range(days)]
    whole = found.get(None, DayFigures(None))
    return [found.get(start, DayFigures(start)) for start in starts], whole


def top_documents(scope: Scope) -> list[FoundDocument]:
    rows = scope.rows(_ASKED + _TOP, first=FIRST_HITS, limit=TOP_DOCUMENTS)
    return [FoundDocument(*row) for row in rows]


def never_found(scope: Scope) -> NeverFound:
    rows = scope.rows(_ASKED + _NEVER, counted=COUNTED + 1, limit=TOP_DOCUMENTS)
    return NeverFound(rows[0][-1] if rows else 0, [FoundDocument(*row[:4]) for row in rows])


def feedback(scope: Scope) -> FeedbackCount:
    return FeedbackCount(*scope.rows(_FEEDBACK)[0])


def model_use(scope: Scope) -> list[ModelUse]:
    """Return tokens and costs of the calendar months in the period, the most expensive first."""
    month = scope.since.date().replace(day=1)
    embedded = _of(scope, EmbeddingUsage.objects.filter(month__gte=month))
    written = _of(scope, LanguageModelUsage.objects.filter(month__gte=month))
    uses = [
        ModelUse("embedding", row["model_identity"], row["tokens"], float(row["cost"]))
        for row in embedded.annotate(tokens=Sum("tokens"), cost=Sum("cost")).order_by(
            "-cost", "-tokens"
        )[:MODELS_SHOWN]
    ] + [
        ModelUse("language model", row["model_identity"], row["used"], float(row["cost"]))
        for row in written.annotate(
            used=Sum("prompt_tokens") + Sum("completion_tokens"), cost=Sum("cost")
        ).order_by("-cost", "-used")[:MODELS_SHOWN]
    ]
    return sorted(uses, key=lambda use: (-use.cost, -use.tokens, use.model))


def _of(scope: Scope, rows: QuerySet[Any]) -> QuerySet[Any, dict[str, Any]]:
    if scope.visible is not None:
        rows = rows.filter(namespace__in=scope.visible)
    return rows.order_by().values("model_identity")
