"""Measure the recall of the vector index, by size of the namespace and selectivity of the
filter."""

import time
import uuid
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from django.conf import settings

from documents.models import Chunk, Namespace
from documents.profiles import profiles
from evaluation.measures.metrics import percentiles
from evaluation.models import GoldenQuery
from ragsite.database.tenancy import current_connection, namespace
from retrieval.candidates import dense
from retrieval.candidates.scope import SearchScope, passing, whole
from retrieval.search_context import read_index

MIN_GOLDEN_QUERIES = 20  # with fewer golden queries, the vectors of chunks are used instead
EVERYTHING = 10**12  # rows; more than any namespace has, so that all are scanned
SIZES = ((1_000, "< 1k"), (10_000, "1k – 10k"), (100_000, "10k – 100k"), (EVERYTHING, "≥ 100k"))
# By a hash of the id, so that the same documents pass each time. 2³² values from −2³¹.
CONDITION = "(hashtext(document.id::text)::float8 + 2147483648) / 4294967296 < %(share)s"


@dataclass(frozen=True, slots=True)
class AnnRecall:
    namespace: str
    chunks: int
    share: float  # of the documents that pass the filter
    left: int  # chunks of those
    queries: int
    plan: str  # the most frequent plan
    recall: float  # mean fraction of the k nearest that was found
    worst: float
    p50_ms: float
    p95_ms: float
    exact_p50_ms: float

    @property
    def size(self) -> str:
        return next(name for below, name in SIZES if self.chunks < below)


def ann_recall(
    tenant: Namespace,
    *,
    shares: Sequence[float],
    queries: int,
    k: int,
    always_index: bool = False,
) -> Iterator[AnnRecall]:
    """Compare the search's own plan with a full scan. `always_index` uses the index even if so few
    chunks are left that the search would scan them."""
    vectors = question_vectors(tenant, queries)
    for share in shares if vectors else ():
        with namespace(tenant.pk):
            left = _left(tenant, share)
        if left:
            yield _measured(tenant, vectors, share, left, k, always_index)


def question_vectors(tenant: Namespace, queries: int) -> list[list[float]]:
    """Return vectors of the namespace's golden queries or, if there are too few, of its chunks."""
    with namespace(tenant.pk):
        texts = list(GoldenQuery.objects.values_list("text", flat=True)[:queries])
        if len(texts) < min(MIN_GOLDEN_QUERIES, queries):
            chunks = Chunk.objects.filter(profile=tenant.active_profile_id).order_by("chunk_hash")
            stored = chunks.values_list("embedding", flat=True)[:queries]
            return [list(embedding) for embedding in stored]
    embedder = profiles.embedder_of(tenant.active_profile)
    return [list(embedder.embed_query(text)) for text in texts]


def _left(tenant: Namespace, share: float) -> int:
    if share >= 1:
        return tenant.chunk_count
    with current_connection().cursor() as cursor:
        cursor.execute(
            "SELECT coalesce(sum(chunks_count), 0) FROM documents_document document "  # noqa: S608
            f"WHERE live_version IS NOT NULL AND {CONDITION}",
            {"share": share},
        )
        (left,) = cursor.fetchone()
    return int(left)


def _measured(
    tenant: Namespace,
    vectors: Sequence[Sequence[float]],
    share: float,
    left: int,
    k: int,
    always_index: bool,
) -> AnnRecall:
    rule = 0 if always_index else settings.SEARCH["exact_scan_rows"]
    scope = whole(read_index(tenant.pk), few=rule)
    if share < 1:
        with namespace(tenant.pk):
            scope = passing(CONDITION, {"share": share}, read_index(tenant.pk), few=rule)
    plans: Counter[str] = Counter()
    recalls, times, exact_times = [], [], []
    for vector in vectors:
        exact, _, took = _find(tenant, vector, replace(scope, through_index=False), k, EVERYTHING)
        exact_times.append(took)
        found, plan, took = _find(tenant, vector, scope, k, rule)
        times.append(took)
        plans[plan] += 1
        recalls.append(len(exact & found) / len(exact) if exact else 1.0)
    timed = percentiles(times)
    return AnnRecall(
        namespace=tenant.slug,
        chunks=tenant.chunk_count,
        share=share,
        left=left,
        queries=len(vectors),
        plan=plans.most_common(1)[0][0],
        recall=sum(recalls) / len(recalls),
        worst=min(recalls),
        p50_ms=timed["p50"],
        p95_ms=timed["p95"],
        exact_p50_ms=percentiles(exact_times)["p50"],
    )


def _find(
    tenant: Namespace, vector: Sequence[float], scope: SearchScope, k: int, exact_up_to: int
) -> tuple[set[uuid.UUID], str, float]:
    with namespace(tenant.pk):
        started = time.perf_counter()
        found, plan = dense.find(
            vector,
            namespace_id=tenant.pk,
            profile=tenant.active_profile,
            scope=scope,
            limit=k,
            exact_up_to=exact_up_to,
            ef_search=max(settings.SEARCH["ef_search"], k),
        )
        took = (time.perf_counter() - started) * 1000
    return {candidate.chunk_id for candidate in found}, plan, took
