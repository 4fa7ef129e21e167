"""Measure what ten, a hundred thousand and a million chunks cost, and write the coefficients that
`manage.py capacity` computes with.

    make bench-scale [SIZES="10000 100000"] [ARGS="--write --picture"]

One namespace grows from size to size. Texts are synthetic and vectors are means of word vectors,
so that embedding is not part of loading; recall holds for these vectors. Questions with and without
a filter take turns.
"""

import argparse
import os
import platform
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from evaluation.benchmarks.load.processes import ProcessTree, postgres_tree
from evaluation.benchmarks.scale import engines, writing
from evaluation.benchmarks.search.query import floor
from evaluation.benchmarks.search.single_legs import TOP, LegBench, timed
from evaluation.benchmarks.service import asking, stage
from evaluation.benchmarks.service.asking import both, middle
from evaluation.benchmarks.service.client import say

FILTERS: dict[str, tuple[str, ...]] = {
    "no filter": (),
    "50 %": ("half",),
    "10 %": ("tenth",),
    "1 %": ("hundredth",),
}
# Tables that grow with chunks; the others grow with documents.
_BYTES = """
    SELECT (SELECT sum(pg_table_size(relid)) FROM pg_stat_user_tables
            WHERE starts_with(relname, 'documents_'))::float8,
           (SELECT sum(pg_relation_size(indexrelid)) FROM pg_stat_user_indexes used
            JOIN pg_class ON pg_class.oid = indexrelid JOIN pg_am ON pg_am.oid = relam
            WHERE starts_with(used.relname, 'documents_') AND amname = 'btree')::float8,
           (SELECT sum(pg_relation_size(indexrelid)) FROM pg_stat_user_indexes used
            JOIN pg_class ON pg_class.oid = indexrelid JOIN pg_am ON pg_am.oid = relam
            WHERE amname = 'gin')::float8
"""


@dataclass
class Size:
    """The measurements with this number of chunks."""

    chunks: int
    load_rate: float  # chunks per second and core
    gin_rate: float
    table_bytes: float
    words_index_bytes: float
    seconds: dict[str, list[float]]  # times of a search, by filter; and of the floor
    postgres_ms: float  # CPU time of a question without a filter
    web_ms: float
    recall: float
    indexes: dict[str, engines.IndexFigures]


def grow(tenant: Any, bench: LegBench | None, chunks: int, embedder: Any) -> tuple[Any, ...]:
    """Add documents until there are this many chunks. Return the corpus, seconds to insert, and
    seconds by index."""
    from evaluation.benchmarks.data import corpus, synthetic

    pages = list(synthetic.pages(chunks, tenant.pk, seed="scale"))
    there = len(bench.corpus.ids) if bench else 0
    texts = [text for page in pages for text in page.texts]
    matrix = embedder.words.of(texts[there:])
    if bench:
        matrix = np.concatenate([bench.corpus.matrix, matrix])
    whole = corpus.Corpus(tenant, tenant.active_profile, pages, matrix)
    known = {page.source_uri for page in bench.corpus.pages} if bench else set()
    new = [page for page in pages if page.source_uri not in known]
    with corpus.without_indexes(rows=chunks) as building:
        added = corpus.Corpus(tenant, tenant.active_profile, new, matrix[there:])
        seconds, _ = timed(partial(corpus.insert, added))
    corpus.set_chunk_count(tenant, chunks)
    corpus.vacuum()
    return whole, seconds, building


def measure(bench: LegBench, *, questions: int, database: ProcessTree) -> dict[str, Any]:
    """Ask every question with each filter and by the floor, in alternating order."""
    from retrieval.cache.results import bypassed
    from retrieval.requests import Filters, SearchRequest
    from retrieval.search import search

    texts = asking.natural_questions(bench.corpus.texts, questions)
    seconds: dict[str, list[float]] = {name: [] for name in (*FILTERS, "floor")}

    def ask(text: str, tags: tuple[str, ...]) -> None:
        search(bench.corpus.tenant.pk, SearchRequest(query=text, filters=Filters(tags=tags)))

    with bypassed():
        for turn, text in enumerate(texts):
            kinds = list(seconds)
            for kind in kinds[turn % len(kinds) :] + kinds[: turn % len(kinds)]:
                if kind == "floor":
                    seconds[kind].append(sum(floor(bench, text)))
                else:
                    seconds[kind].append(timed(partial(ask, text, FILTERS[kind]))[0])
        before, own = database.cpu_seconds(), time.process_time()
        for text in texts:
            ask(text, ())
        web = 1000 * (time.process_time() - own) / len(texts)
        postgres = 1000 * (database.cpu_seconds() - before) / len(texts)
    return {"seconds": seconds, "postgres_ms": postgres, "web_ms": web, "recall": _recall(bench)}


def _recall(bench: LegBench) -> float:
    shares = []
    for text in asking.natural_questions(bench.corpus.texts, 40):
        vector = bench.vector_of(text)
        with bench.inside():
            near, _ = bench.near(vector, bench.scope())
        shares.append(len(bench.nearest(vector) & bench.rows_of(near)) / TOP)
    return float(np.mean(shares))


def measured_size(
    bench: LegBench,
    seconds: float,
    building: dict[str, float],
    *,
    questions: int,
    added: int,
    vectors: Path | None,
) -> Size:
    from evaluation.benchmarks.data.corpus import owner_rows

    chunks, cores = len(bench.corpus.ids), len(os.sched_getaffinity(0))
    ((tables, small, words),) = owner_rows(_BYTES)
    found = measure(bench, questions=questions, database=postgres_tree())
    asked = np.stack(
        [np.asarray(bench.vector_of(q)) for q in asking.natural_questions(bench.corpus.texts, 50)]
    )
    matrix = bench.corpus.matrix
    if vectors:
        matrix, asked = engines.like(vectors, chunks)
    indexes = engines.compare(matrix, asked)
    return Size(
        chunks,
        added / seconds / cores,
        chunks / building["gin"],
        (tables + small) / chunks,
        words / chunks,
        indexes=indexes,
        **found,
    )


def report(sizes: Sequence[Size]) -> None:
    say("\n### A search by size, in this process; p50 / p95 in ms\n")
    say("| chunks | floor | " + " | ".join(FILTERS) + " | p95 to the floor | 10 % to none |")
    say("|--:|" + "--:|" * (len(FILTERS) + 3))
    for size in sizes:
        of_floor, without, tenth = (size.seconds[n] for n in ("floor", "no filter", "10 %"))
        cells = " | ".join(both(size.seconds[name]) for name in FILTERS)
        say(
            f"| {size.chunks:,} | {both(of_floor)} | {cells} "
            f"| {middle(without, 95) / middle(of_floor, 95):.2f} "
            f"| {middle(tenth) / middle(without):.2f} |"
        )
    head = "loaded/s and core | words indexed/s | table B | words B | Postgres ms | recall"
    say(f"\n| chunks | {head} |")
    say("|--:|--:|--:|--:|--:|--:|--:|")
    for size in sizes:
        say(
            f"| {size.chunks:,} | {size.load_rate:.0f} | {size.gin_rate:.0f} "
            f"| {size.table_bytes:.0f} | {size.words_index_bytes:.0f} | {size.postgres_ms:.1f} "
            f"| {size.recall:.3f} |"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--questions", type=int, default=60)
    parser.add_argument(
        "--vectors",
        type=Path,
        help="An .npz with a model's own vectors of passages (D) and questions (Q), for comparing "
        "indexes. They are repeated with noise until there are as many as chunks.",
    )
    parser.add_argument("--write", action="store_true", help="Write the coefficients.")
    parser.add_argument("--note", default="", help="Written with the coefficients.")
    parser.add_argument("--picture", type=Path, help="Draw it; needs requirements/bench.txt.")
    options = parser.parse_args()
    os.environ |= {"RAGSITE_PG_FSYNC": "off", "EMBEDDING_THREADS": "1"}
    stage.set_up(settings="evaluation.benchmarks.service.word_vectors")
    from documents.accounts import keys
    from documents.models import IndexProfile
    from documents.profiles import profiles
    from ragsite.database.tenancy import operator

    machine = stage.machine(("Django", "pgvector"))
    say(machine)
    with operator():
        embedder: Any = profiles.embedder_of(IndexProfile.objects.get(name="default"))
        tenant = keys.create_namespace("scale", language="en")
    bench, sizes = None, []
    for chunks in sorted(options.sizes):
        there = len(bench.corpus.ids) if bench else 0
        corpus, seconds, building = grow(tenant, bench, chunks, embedder)
        bench = LegBench(corpus, embedder, embedder.words)
        sizes.append(
            measured_size(
                bench,
                seconds,
                building,
                questions=options.questions,
                added=chunks - there,
                vectors=options.vectors,
            )
        )
        report(sizes)
        found = writing.coefficients_of(
            sizes, f"{machine}, {platform.machine()}", vectors=options.vectors
        )
        say(f"\nPostgres CPU of a question: {found.postgres_ms}")
        if options.write:
            writing.write(replace(found, notes=[*found.notes, *filter(None, [options.note])]))
        if options.picture:
            writing.draw(sizes, options.picture)


if __name__ == "__main__":
    main()
