"""The same vectors in several indexes: build time, size, speed, and recall against an exact search.

pgvector is measured in a plain table, without text, tenants or row-level security.
"""

import io
import os
import struct
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from evaluation.benchmarks.service.asking import both
from evaluation.benchmarks.service.client import say

TOP = 10
EF = 100
RESCORED = 80  # candidates by bits, for the first ten
AT_ONCE = 1000
QUESTIONS = 100
NOISE = 0.5  # length of the noise added to a repeated vector of length 1


@dataclass(frozen=True, slots=True)
class IndexFigures:
    build_seconds: float
    bytes_per_vector: float  # bytes of the index; 0 if the engine does not report it
    times: Sequence[float]
    recall: float


def like(path: Path, rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Return so many vectors made from those in the file, and its questions."""
    stored = np.load(path)
    real, chance = stored["D"].astype(np.float32), np.random.default_rng(1)
    matrix = real[np.arange(rows) % len(real)]
    noise = chance.standard_normal(matrix.shape, dtype=np.float32) * NOISE / matrix.shape[1] ** 0.5
    noise[: len(real)] = 0
    matrix += noise
    matrix /= np.linalg.norm(matrix, axis=1, keepdims=True)
    return matrix, stored["Q"][:QUESTIONS].astype(np.float32)


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
    """HNSW over half-precision numbers, as the service's default."""

    name = "hnsw"
    index = "USING hnsw (v halfvec_cosine_ops)"
    statement = "SELECT id FROM bench_vectors ORDER BY v <=> %(v)s::halfvec LIMIT 10"

    def build(self, matrix: np.ndarray) -> None:
        from django.db import connections

        with connections["owner"].cursor() as cursor:
            cursor.execute(f"SET maintenance_work_mem = '{1 + len(matrix) // 300_000}GB'")
            cursor.execute(f"CREATE INDEX bench_index ON bench_vectors {self._index(matrix)}")
            cursor.execute("ANALYZE bench_vectors")
            cursor.execute(f"SET hnsw.ef_search = {max(EF, RESCORED)}")

    def _index(self, matrix: np.ndarray) -> str:
        return self.index.format(dimensions=matrix.shape[1])

    def search(self, vector: np.ndarray) -> list[int]:
        from evaluation.benchmarks.data.corpus import owner_rows

        text = "[" + ",".join(f"{x:.6g}" for x in vector.tolist()) + "]"
        statement = self.statement.format(dimensions=len(vector))
        return [row for (row,) in owner_rows(statement, {"v": text})]

    def index_bytes(self) -> int:
        from evaluation.benchmarks.data.corpus import owner_rows

        ((size,),) = owner_rows("SELECT pg_relation_size('bench_index')")
        return int(size)

    def close(self) -> None:
        from django.db import connections

        with connections["owner"].cursor() as cursor:
            cursor.execute("DROP INDEX bench_index")


class PgvectorBit(Pgvector):
    """HNSW over one bit for each dimension; the nearest by bits are compared again."""

    name = "bit"
    index = "USING hnsw ((binary_quantize(v)::bit({dimensions})) bit_hamming_ops)"
    statement = (
        "SELECT id FROM (SELECT id, v FROM bench_vectors ORDER BY "
        "binary_quantize(v)::bit({dimensions}) <~> "
        "binary_quantize(%(v)s::halfvec)::bit({dimensions}) "
        "LIMIT 80) near ORDER BY v <=> %(v)s::halfvec LIMIT 10"
    )


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


def installed() -> Iterator[Engine]:
    yield Pgvector()
    yield PgvectorBit()
    if os.environ.get("QDRANT_URL") and find_spec("qdrant_client"):
        yield QdrantIndex()
    if find_spec("chromadb"):
        yield ChromaIndex()


def compare(matrix: np.ndarray, questions: np.ndarray) -> dict[str, IndexFigures]:
    """Measure every available engine, question by question in turns if several can be open
    together; pgvector's share a table, so its indexes are built one after the other."""
    exact = [set(np.argsort(-(matrix @ vector))[:TOP].tolist()) for vector in questions]
    found = {}
    with _table(matrix):
        for engine in installed():
            started = time.perf_counter()
            engine.build(matrix)
            seconds = time.perf_counter() - started
            try:
                found[engine.name] = _asked(engine, questions, exact, seconds, len(matrix))
            finally:
                engine.close()
    say(f"\n### {len(matrix):,} vectors of {matrix.shape[1]} dimensions, by index\n")
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
    for vector in questions:
        engine.search(vector)
    times, shares = [], []
    for vector, nearest in zip(questions, exact, strict=True):
        started = time.perf_counter()
        rows_found = engine.search(vector)
        times.append(time.perf_counter() - started)
        shares.append(len(nearest & set(rows_found)) / TOP)
    return IndexFigures(seconds, engine.index_bytes() / rows, times, float(np.mean(shares)))


@contextmanager
def _table(matrix: np.ndarray) -> Iterator[None]:
    from django.db import connections

    with connections["owner"].cursor() as cursor:
        cursor.execute("DROP TABLE IF EXISTS bench_vectors")
        cursor.execute(
            f"CREATE TABLE bench_vectors (id int PRIMARY KEY, v halfvec({matrix.shape[1]}))"
        )
        copy = "COPY bench_vectors FROM STDIN (FORMAT binary)"
        with cursor.copy(copy) as target:
            for part in _binary(matrix):
                target.write(part)
    try:
        yield
    finally:
        with connections["owner"].cursor() as cursor:
            cursor.execute("DROP TABLE bench_vectors")


def _binary(matrix: np.ndarray) -> Iterator[bytes]:
    """PostgreSQL's binary COPY format, many times faster than text."""
    yield b"PGCOPY\n\xff\r\n\0" + struct.pack("!ii", 0, 0)
    dimensions = matrix.shape[1]
    size = 4 + 2 * dimensions
    for first in range(0, len(matrix), AT_ONCE):
        rows, out = matrix[first : first + AT_ONCE].astype(">f2"), io.BytesIO()
        for number, row in enumerate(rows, start=first):
            out.write(struct.pack("!hii", 2, 4, number))
            out.write(struct.pack("!ihh", size, dimensions, 0))
            out.write(row.tobytes())
        yield out.getvalue()
    yield struct.pack("!h", -1)
