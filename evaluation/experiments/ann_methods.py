"""Compare hnsw, bit, ivfflat and a scan on a copy of a namespace's vectors in a separate table."""

import json
import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from django.db import connections, transaction
from django.db.backends.utils import CursorWrapper

from documents.models import Namespace
from documents.profiles import ann_methods
from evaluation.measures.metrics import percentiles

TABLE = "measured_vectors"
MIN_VECTORS = 100  # with fewer vectors there is nothing to approximate


@dataclass(frozen=True, slots=True)
class IndexMethod:
    name: str
    build: str  # SQL that defines the index; blank for a scan
    settings: dict[str, str]
    rescore: int = 0  # factor of rows that are found by their bits and then compared in full


@dataclass(frozen=True, slots=True)
class MethodResult:
    method: str
    build_seconds: float
    recall: dict[int, float]  # by k
    p50_ms: float
    p95_ms: float


def measure_methods(
    tenant: Namespace, vectors: Sequence[Sequence[float]], *, ks: Sequence[int] = (10, 100)
) -> tuple[int, list[MethodResult]]:
    """Return the number of vectors, and the recall of each method. Inside operator(); the table is
    dropped at the end of the transaction."""
    with transaction.atomic(using="operator"), connections["operator"].cursor() as cursor:
        cursor.execute("SET LOCAL statement_timeout = 0")  # no time limit for building an index
        dimensions = tenant.active_profile.dimensions
        cursor.execute(
            f"CREATE TEMP TABLE {TABLE} ON COMMIT DROP AS SELECT id, "  # noqa: S608
            f"embedding::halfvec({dimensions}) AS embedding FROM documents_chunk "
            "WHERE namespace_id = %s AND profile_id = %s",
            [tenant.pk, tenant.active_profile_id],
        )
        cursor.execute(f"SELECT count(*) FROM {TABLE}")  # noqa: S608
        (rows,) = cursor.fetchone()
        if rows < MIN_VECTORS or not vectors:
            return rows, []
        cursor.execute(f"ANALYZE {TABLE}")
        cursor.execute("SET LOCAL maintenance_work_mem = '256MB'")
        exact = [_nearest(cursor, vector, max(ks), {})[0] for vector in vectors]
        return rows, list(_measured(cursor, rows, vectors, exact, ks))


def _measured(
    cursor: CursorWrapper,
    rows: int,
    vectors: Sequence[Sequence[float]],
    exact: Sequence[list[str]],
    ks: Sequence[int],
) -> Iterator[MethodResult]:
    built, seconds = "", 0.0
    for method in _methods(rows, len(vectors[0]), max(ks)):
        if method.build != built:
            cursor.execute("DROP INDEX IF EXISTS measured_index")
            started = time.perf_counter()
            if method.build:
                cursor.execute(f"CREATE INDEX measured_index ON {TABLE} {method.build}")
            built, seconds = method.build, time.perf_counter() - started
        answers = [
            _nearest(cursor, vector, max(ks), method.settings, method.rescore) for vector in vectors
        ]
        timed = percentiles([took for _, took in answers])
        yield MethodResult(
            method=method.name,
            build_seconds=round(seconds if method.build else 0.0, 2),
            recall={
                k: sum(
                    len(set(right[:k]) & set(found[:k])) / len(right[:k])
                    for right, (found, _) in zip(exact, answers, strict=True)
                )
                / len(exact)
                for k in ks
            },
            p50_ms=timed["p50"],
            p95_ms=timed["p95"],
        )


def _methods(rows: int, dimensions: int, k: int) -> Iterator[IndexMethod]:
    yield IndexMethod("exact", "", {})
    hnsw = "USING hnsw (embedding halfvec_cosine_ops) WITH (m = 16, ef_construction = 64)"
    for width in (100, 200):
        yield IndexMethod(f"hnsw, ef_search {width}", hnsw, {"hnsw.ef_search": str(width)})
    bits = ann_methods.indexed("bit", dimensions)
    by_bits = f"USING hnsw (({bits}) bit_hamming_ops) WITH (m = 16, ef_construction = 64)"
    for factor in (4, ann_methods.DEFAULT_RESCORE):
        settings = {"hnsw.ef_search": str(min(1000, k * factor))}
        yield IndexMethod(f"bit, {factor} times rescored", by_bits, settings, factor)
    # As pgvector recommends: rows / 1000 lists, and probes in the square root of that.
    lists = max(10, min(rows // 1000, round(math.sqrt(rows))))
    ivfflat = f"USING ivfflat (embedding halfvec_cosine_ops) WITH (lists = {lists})"
    for probes in dict.fromkeys((1, round(math.sqrt(lists)), max(1, lists // 2))):
        name = f"ivfflat, {lists} lists, {probes} probes"
        yield IndexMethod(name, ivfflat, {"ivfflat.probes": str(probes)})


def _nearest(
    cursor: CursorWrapper,
    vector: Sequence[float],
    k: int,
    settings: dict[str, str],
    rescore: int = 0,
) -> tuple[list[str], float]:
    # Forced, not left to the planner: the index for methods with settings, otherwise a scan.
    wanted = {"enable_seqscan": "off" if settings else "on", **settings}
    wanted["enable_indexscan"] = "on" if settings else "off"
    for name, value in wanted.items():
        cursor.execute("SELECT set_config(%s, %s, true)", [name, value])
    source = TABLE
    if rescore:
        bits = ann_methods.indexed("bit", len(vector))
        asked = ann_methods.indexed("bit", len(vector), "%(vector)s::halfvec")
        source = f"(SELECT * FROM {TABLE} ORDER BY {bits} <~> {asked} LIMIT %(alike)s) alike"  # noqa: S608
    started = time.perf_counter()
    cursor.execute(
        f"SELECT id FROM {source} ORDER BY embedding <=> %(vector)s::halfvec LIMIT %(k)s",  # noqa: S608
        {"vector": json.dumps(list(vector)), "k": k, "alike": k * rescore},
    )
    found = [str(row[0]) for row in cursor.fetchall()]
    return found, (time.perf_counter() - started) * 1000
