"""Convert measurements to coefficients, and to a picture."""

import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from documents.embedders.sentence_transformers import SentenceTransformersEmbedder
from evaluation.benchmarks.service import asking
from evaluation.benchmarks.service.asking import middle
from evaluation.capacity.coefficients import Coefficients, MeasuredPoint, fitted, write

if TYPE_CHECKING:
    from evaluation.benchmarks.scale.growth import Size

__all__ = ["coefficients_of", "draw", "write"]

VECTORS = "means of the bundled model's word vectors, 384 dimensions"
BITS = "bit × 8"  # the index by bits, as a profile has it by default
ONE_SIZE = "one size was measured: how a question's cost grows is not known"
EMBEDDED = 64  # texts to measure embedding on


def coefficients_of(sizes: Sequence["Size"], machine: str, *, data: Path | None) -> Coefficients:
    """Bytes and rates are those of the largest size; CPU is fitted to all sizes."""
    last, cores = sizes[-1], len(os.sched_getaffinity(0))
    indexes = {"hnsw": last.indexes["hnsw"], "bit": last.indexes[BITS]}
    embed_rate, question_ms = _embedding()
    return Coefficients(
        machine=machine,
        measured_chunks=[size.chunks for size in sizes],
        vectors=f"{VECTORS}, of {'passages of a file' if data else 'synthetic passages'}",
        table_bytes=round(last.table_bytes),
        words_index_bytes=round(last.words_index_bytes),
        vector_index_bytes={n: round(each.bytes_per_vector) for n, each in indexes.items()},
        recall={name: round(each.recall, 3) for name, each in indexes.items()},
        load_rate=round(last.load_rate, 1),
        build_rate={
            name: round(last.chunks / each.build_seconds / cores, 1)
            for name, each in indexes.items()
        },
        embed_rate=round(embed_rate, 1),
        web_ms=round(last.web_ms + question_ms, 1),
        notes=[ONE_SIZE] if len(sizes) == 1 else [],
        points=[_point(size) for size in sizes],
        postgres_ms=fitted([s.chunks for s in sizes], [s.postgres_ms for s in sizes]),
    )


def _point(size: "Size") -> MeasuredPoint:
    """With the index that a plan would choose first."""
    vectors = size.indexes["hnsw"].bytes_per_vector
    return MeasuredPoint(
        size.chunks,
        round(size.postgres_ms, 1),
        round(size.table_bytes + size.words_index_bytes + vectors),
        round(middle(size.seconds["no filter"], 95), 1),
        round(middle(size.seconds["floor"], 95), 1),
    )


def _embedding() -> tuple[float, float]:
    """Return passages of 220 tokens per second of CPU, and CPU milliseconds of a question, by the
    bundled model."""
    from evaluation.benchmarks.data import synthetic

    model = SentenceTransformersEmbedder(threads=1)
    model.warm()
    words = [word for word in synthetic.words() if len(word) > 4]
    chance = np.random.default_rng(3)
    passages = [" ".join(chance.choice(words, 180)) for _ in range(EMBEDDED)]
    started = time.process_time()
    model.embed_batch(passages)
    rate = EMBEDDED / (time.process_time() - started)
    questions = asking.natural_questions([". ".join(p.split("  ")) for p in passages], EMBEDDED)
    started = time.process_time()
    for question in questions:
        model.embed_query(question)
    return rate, 1000 * (time.process_time() - started) / EMBEDDED


def draw(sizes: Sequence["Size"], path: Path) -> None:
    """Both axes are logarithmic, so a straight line is a power of the size."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    chunks = [size.chunks for size in sizes]
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    for name in sizes[0].seconds:
        left.loglog(chunks, [middle(s.seconds[name]) for s in sizes], "o-", label=name)
    left.set(xlabel="chunks", ylabel="ms", title="A search, p50")
    left.legend()
    for name in ("hnsw", BITS):
        right.loglog(chunks, [s.indexes[name].bytes_per_vector for s in sizes], "o-", label=name)
    right.loglog(chunks, [s.words_index_bytes for s in sizes], "o-", label="index of words")
    right.loglog(chunks, [s.table_bytes for s in sizes], "o-", label="table")
    right.set(xlabel="chunks", ylabel="bytes a chunk", title="What a chunk takes")
    right.legend()
    for axes in (left, right):
        axes.grid(visible=True, which="both", alpha=0.3)
    figure.savefig(path, dpi=110)
