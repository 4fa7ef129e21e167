"""The same vectors in several indexes: build time, size, speed, and recall against an exact search.

PostgreSQL's indexes are the service's own, on its table of chunks and asked by its own statement:
100 candidates, of which the first ten count.
"""

import os
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from evaluation.benchmarks.search.single_legs import TOP, LegBench
from evaluation.benchmarks.service.asking import both
from evaluation.benchmarks.service.client import say

AT_ONCE = 1000
QUESTIONS = 100
RESCORES = (2, 4, 8)  # how many times more candidates are taken by their bits


@dataclass(frozen=True, slots=True)
class IndexFigures:
    build_seconds: float
    bytes_per_vector: float  # bytes of the index; 0 if the engine does not report it
    times: Sequence[float]
    recall: float


class Engine(ABC):
    name: str

    @abstractmethod
    def build(self, matrix: np.ndarray) -> None: ...

    @abstractmethod
    def search(self, vector: np.ndarray) -> list[int]:
        """Return the rows of the nearest ten."""

    def index_bytes(self) -> int:
        return 0

    def close(self) -> None:
        return None


class Pgvector(Engine):
    """The service's vector index of a method, on its table of chunks."""

    def __init__(self, bench: LegBench, method: str, *, rescore: int | None = None) -> None:
        self.bench = bench
        self.name = f"{method} × {rescore}" if rescore else method
        self.profile = copy(bench.corpus.profile)
        self.profile.ann_method = method
        self.profile.ann_options = {"rescore": rescore} if rescore else {}

    def build(self, matrix: np.ndarray) -> None:
        return None  # there already

    def search(self, vector: np.ndarray) -> list[int]:
        from django.conf import settings

        from retrieval.candidates import dense

        with self.bench.inside():
            found, _ = dense.find(
                vector.tolist(),
                namespace_id=self.bench.corpus.tenant.pk,
                profile=self.profile,
                scope=self.bench.scope(),
                limit=settings.SEARCH["candidates"],
                exact_up_to=0,
                ef_search=max(settings.SEARCH["ef_search"], settings.SEARCH["candidates"]),
            )
        return [self.bench.places[candidate.chunk_id] for candidate in found[:TOP]]

    def index_bytes(self) -> int:
        from evaluation.benchmarks.data.corpus import owner_rows

        names = owner_rows(
            "SELECT pg_relation_size(indexrelid) FROM pg_stat_user_indexes "
            "WHERE relname = 'documents_chunk' AND indexrelname = %s",
            [index_name(self.profile)],
        )
        return int(names[0][0])


def index_name(profile: Any) -> str:
    from documents.profiles import vector_indexes

    name = vector_indexes.name_of(profile.pk)
    return f"{name}_bit" if profile.ann_method == "bit" else name


class QdrantIndex(Engine):
    """A server named by QDRANT_URL."""

    name = "qdrant"

    def build(self, matrix: np.ndarray) -> None:
        from qdrant_client import QdrantClient, models

        self.client = QdrantClient(url=os.environ["QDRANT_URL"], timeout=600)
        self.client.delete_collection("bench")
        self.client.create_collection(
            "bench",
            vectors_config=models.VectorParams(
                size=matrix.shape[1], distance=models.Distance.COSINE
            ),
        )
        for first in range(0, len(matrix), AT_ONCE):
            some = matrix[first : first + AT_ONCE]
            points = models.Batch(ids=list(range(first, first + len(some))), vectors=some.tolist())
            self.client.upsert("bench", points=points, wait=True)
        while self.client.get_collection("bench").status != models.CollectionStatus.GREEN:
            time.sleep(0.5)

    def search(self, vector: np.ndarray) -> list[int]:
        found = self.client.query_points("bench", query=vector.tolist(), limit=TOP).points
        return [int(point.id) for point in found]

    def close(self) -> None:
        self.client.delete_collection("bench")


class ChromaIndex(Engine):
    """In this process, in memory."""

    name = "chroma"

    def build(self, matrix: np.ndarray) -> None:
        import chromadb

        client = chromadb.EphemeralClient()
        self.collection = client.create_collection(
            f"bench-{time.time_ns()}", metadata={"hnsw:space": "cosine"}
        )
        for first in range(0, len(matrix), AT_ONCE):
            some = matrix[first : first + AT_ONCE]
            ids = [str(row) for row in range(first, first + len(some))]
            self.collection.add(ids=ids, embeddings=some)

    def search(self, vector: np.ndarray) -> list[int]:
        found = self.collection.query(query_embeddings=[vector], n_results=TOP, include=[])
        return [int(row) for row in found["ids"][0]]


def installed(bench: LegBench) -> Iterator[Engine]:
    yield Pgvector(bench, "hnsw")
    for rescore in RESCORES:
        yield Pgvector(bench, "bit", rescore=rescore)
    if os.environ.get("QDRANT_URL") and find_spec("qdrant_client"):
        yield QdrantIndex()
    if find_spec("chromadb"):
        yield ChromaIndex()


def compare(
    bench: LegBench,
    questions: np.ndarray,
    built: Mapping[str, float],
    *,
    title: str,
    others_up_to: int,
) -> dict[str, IndexFigures]:
    """Measure every engine that is there with this corpus, others than PostgreSQL with so many
    vectors at most. `built` are the seconds in which the service's own indexes were built, by
    method."""
    matrix = bench.corpus.matrix
    exact = [set(np.argpartition(-(matrix @ v), TOP)[:TOP].tolist()) for v in questions]
    found = {}
    for engine in installed(bench):
        if len(matrix) > others_up_to and not isinstance(engine, Pgvector):
            continue
        started = time.perf_counter()
        engine.build(matrix)
        seconds = time.perf_counter() - started
        if isinstance(engine, Pgvector):
            seconds = built[engine.profile.ann_method]
        try:
            found[engine.name] = _asked(engine, questions, exact, seconds, len(matrix))
        finally:
            engine.close()
    say(f"\n### {title}, {matrix.shape[1]} dimensions, by index\n")
    say("| | build s | vectors/s | bytes a vector | p50 / p95 ms | recall@10 |")
    say("|---|--:|--:|--:|--:|--:|")
    for name, each in found.items():
        size = f"{each.bytes_per_vector:.0f}" if each.bytes_per_vector else "–"
        say(
            f"| {name} | {each.build_seconds:.1f} | {len(matrix) / each.build_seconds:.0f} "
            f"| {size} | {both(each.times)} | {each.recall:.3f} |"
        )
    return found


def _asked(
    engine: Engine, questions: np.ndarray, exact: Sequence[set[int]], seconds: float, rows: int
) -> IndexFigures:
    for vector in questions[:20]:
        engine.search(vector)
    times, shares = [], []
    for vector, nearest in zip(questions, exact, strict=True):
        started = time.perf_counter()
        rows_found = engine.search(vector)
        times.append(time.perf_counter() - started)
        shares.append(len(nearest & set(rows_found)) / TOP)
    return IndexFigures(seconds, engine.index_bytes() / rows, times, float(np.mean(shares)))


def stored(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """A model's own vectors of passages, and of questions."""
    found = np.load(path)
    return found["D"].astype(np.float32), found["Q"][:QUESTIONS].astype(np.float32)
