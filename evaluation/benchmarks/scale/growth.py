"""Measure what ten, a hundred thousand and a million chunks cost, and write the coefficients that
`manage.py capacity` computes with.

    make bench-scale [SIZES="10000 100000 1000000"] [ARGS="--data passages.jsonl.gz --write"]

One namespace grows from size to size: to a hundred thousand by loading, beyond that by copies that
are made inside the database (data/multiplying.py). Vectors are means of word vectors, so that
embedding is not part of loading; recall holds for these vectors. Questions with and without a
filter take turns.
"""

import argparse
import os
import platform
import time
import uuid
from collections.abc import Sequence
from copy import copy
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

BASE = 100_000  # chunks that are loaded; larger sizes are made of copies of them
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


@dataclass
class Growing:
    """One namespace that grows from size to size."""

    tenant: Any
    embedder: Any
    data: Path | None
    base_chunks: int
    base: Any = None  # what was loaded in the service's own way
    load_rate: float = 0.0  # of it: chunks a second and core
    empty_bytes: tuple[float, ...] = (0.0, 0.0, 0.0)  # what is in the tables beside it
    bench: LegBench | None = None

    def grow(self, chunks: int) -> tuple[LegBench, dict[str, float]]:
        """Add documents until there are so many chunks. Return seconds by index method."""
        from documents.ingestion import terms
        from evaluation.benchmarks.data import corpus
        from evaluation.benchmarks.data.multiplying import multiplied

        there = len(self.bench.corpus.ids) if self.bench else 0
        loaded = min(chunks, self.base_chunks)
        with corpus.without_indexes(rows=chunks) as building:
            if there < loaded:
                self._load(loaded)
            found = self.base
            if chunks > loaded:
                before = max(1, there // loaded)
                found = multiplied(self.base, chunks // loaded, there=before)
        corpus.set_chunk_count(self.tenant, len(found.ids))
        terms.recount(self.tenant.pk, self.tenant.active_profile)
        corpus.vacuum()
        self.bench = LegBench(found, self.embedder, self.embedder.words)
        return self.bench, building

    def _load(self, chunks: int) -> None:
        from evaluation.benchmarks.data import corpus

        pages = self._pages(chunks)
        known = {page.source_uri for page in self.base.pages} if self.base else set()
        texts = [text for page in pages for text in page.texts]
        matrix = self.embedder.words.of(texts)
        profile = self.tenant.active_profile
        own = [page.source_uri not in known for page in pages for _ in page.texts]
        new = [page for page in pages if page.source_uri not in known]
        added = corpus.Corpus(self.tenant, profile, new, matrix[np.array(own)])
        seconds, _ = timed(partial(corpus.insert, added))
        self.load_rate = len(added.ids) / seconds / len(os.sched_getaffinity(0))
        self.base = corpus.Corpus(self.tenant, profile, pages, matrix)

    def _pages(self, chunks: int) -> list[Any]:
        from evaluation.benchmarks.data import corpus, synthetic

        if self.data is None:
            return list(synthetic.pages(chunks, self.tenant.pk, seed="scale"))
        return corpus.read_pages(self.data, rows=chunks, owner=self.tenant.pk)


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


def measured_size(growing: Growing, chunks: int, *, questions: int, others_up_to: int) -> Size:
    from evaluation.benchmarks.data.corpus import owner_rows

    bench, building = growing.grow(chunks)
    say(f"\n{chunks:,} chunks: " + ", ".join(f"{n} {s:.0f} s" for n, s in building.items()))
    rows = len(bench.corpus.ids)
    now = owner_rows(_BYTES)[0]
    tables, small, words = (a - b for a, b in zip(now, growing.empty_bytes, strict=True))
    found = measure(bench, questions=questions, database=postgres_tree())
    asked = np.stack(
        [np.asarray(bench.vector_of(q)) for q in asking.natural_questions(bench.corpus.texts, 50)]
    )
    title = f"{rows:,} chunks"
    indexes = engines.compare(bench, asked, building, title=title, others_up_to=others_up_to)
    return Size(
        rows,
        growing.load_rate,
        rows / building["gin"],
        (tables + small) / rows,
        words / rows,
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


def models_own(tenant: Any, vectors: Sequence[Path]) -> None:
    """Compare the indexes on a model's own vectors, which no other part of this has."""
    from documents.models import IndexProfile
    from evaluation.benchmarks.data import corpus

    found = [engines.stored(path) for path in vectors]
    matrix, questions = (np.concatenate(parts) for parts in zip(*found, strict=True))
    profile = IndexProfile.objects.using("owner").get(pk=tenant.active_profile_id)
    profile.pk, profile.name = uuid.uuid4(), "models-own"
    profile.save(using="owner", force_insert=True)
    pages = [
        corpus.CorpusDocument(f"own/{row}", "", (f"passage {row}",), tenant.pk)
        for row in range(len(matrix))
    ]
    own = corpus.Corpus(tenant, profile, pages, matrix)
    with_index(profile)
    with corpus.without_indexes(rows=len(matrix)) as building:
        corpus.insert(own)
    corpus.vacuum()
    title = f"{len(matrix):,} vectors of a model's own ({', '.join(p.stem for p in vectors)})"
    bench = LegBench(own, None, None)
    engines.compare(bench, questions, building, title=title, others_up_to=len(matrix))


def with_index(profile: Any) -> None:
    """Make the profile's index by half-precision numbers, and one by bits beside it."""
    from django.db import connections

    from documents.profiles import ann_methods, vector_indexes

    by_bits = copy(profile)
    by_bits.ann_method = "bit"
    vector_indexes.ensure(profile)
    indexed = ann_methods.indexed("bit", profile.dimensions)
    with connections["owner"].cursor() as cursor:
        cursor.execute(
            f'CREATE INDEX "{engines.index_name(by_bits)}" ON documents_chunk '
            f"USING hnsw (({indexed}) bit_hamming_ops) WHERE profile_id = '{profile.pk}'"
        )


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument(
        "--base",
        type=int,
        default=BASE,
        help="Chunks that are loaded; larger sizes are made of copies of them.",
    )
    parser.add_argument("--questions", type=int, default=60)
    parser.add_argument(
        "--data", type=Path, help="Passages, one JSON on a line; synthetic ones without it."
    )
    parser.add_argument(
        "--vectors",
        type=Path,
        nargs="*",
        default=[],
        help="Files (.npz) with a model's own vectors of passages (D) and questions (Q), on which "
        "the indexes are compared, too.",
    )
    parser.add_argument(
        "--others-up-to",
        type=int,
        default=100_000,
        help="Vectors with which Qdrant (QDRANT_URL) and Chroma, where installed, take part.",
    )
    parser.add_argument("--write", action="store_true", help="Write the coefficients.")
    parser.add_argument("--note", default="", help="Written with the coefficients.")
    parser.add_argument("--picture", type=Path, help="Draw it; needs requirements/bench.txt.")
    parser.add_argument("--home", type=Path, help="Keep the database here.")
    options = parser.parse_args()
    if wrong := [n for n in options.sizes if n > options.base and n % options.base]:
        parser.error(f"{wrong[0]:,}: sizes beyond {options.base:,} must be multiples of it.")
    return options


def main() -> None:
    options = read_options()
    os.environ |= {"RAGSITE_PG_FSYNC": "off", "EMBEDDING_THREADS": "1"}
    stage.set_up(options.home, settings="evaluation.benchmarks.service.word_vectors")
    from documents.accounts import keys
    from documents.models import IndexProfile
    from documents.profiles import profiles
    from evaluation.benchmarks.data.corpus import owner_rows
    from ragsite.database.tenancy import operator

    machine = stage.machine(("Django", "pgvector"))
    say(machine)
    with operator():
        embedder: Any = profiles.embedder_of(IndexProfile.objects.get(name="default"))
        tenant = keys.create_namespace("scale", language="en")
        other = keys.create_namespace("models-own", language="en")
    if options.vectors:
        models_own(other, options.vectors)
    with_index(tenant.active_profile)
    empty = owner_rows(_BYTES)[0]
    growing, sizes = Growing(tenant, embedder, options.data, options.base, empty_bytes=empty), []
    for chunks in sorted(options.sizes):
        size = measured_size(
            growing, chunks, questions=options.questions, others_up_to=options.others_up_to
        )
        sizes.append(size)
        report(sizes)
        found = writing.coefficients_of(
            sizes, f"{machine}, {platform.machine()}", data=options.data
        )
        say(f"\nPostgres CPU of a question: {found.postgres_ms}")
        if options.write:
            writing.write(replace(found, notes=[*found.notes, *filter(None, [options.note])]))
        if options.picture:
            writing.draw(sizes, options.picture)


if __name__ == "__main__":
    main()
