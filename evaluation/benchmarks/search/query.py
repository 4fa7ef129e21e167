"""Measure the speed of queries as ratios in one run, and the recall of the vector index.

    make bench-query DATA=passages.jsonl.gz [ROWS=97768]

The floor is the minimum for any service with this model and this database: embedding the question,
and the two bare candidate statements. Everything is measured in turns, question by question, so
that a slow moment of the machine affects all sides.
"""

import argparse
import os
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from evaluation.benchmarks.search.single_legs import (
    CANDIDATES,
    TOP,
    LegBench,
    bare,
    last_statement,
    timed,
)
from evaluation.benchmarks.service import asking, stage
from evaluation.benchmarks.service.asking import both, middle

PARTS = "embedding", "HNSW", "BM25 candidates"
PACKAGES = ("Django", "pgvector", "sentence-transformers", "torch", "tantivy", "uvicorn")
TENANTS = (0.001, 0.01, 0.1, 0.3)  # with these fractions of the corpus
_NO_WORD = re.compile(r"[^A-Za-z0-9]+")


def say(line: str = "") -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def floor(bench: LegBench, text: str) -> tuple[float, float, float]:
    """Return the seconds for the question's vector, and for each leg's bare statement."""
    embed, vector = timed(lambda: bench.embedder.embed_query(text))
    with bench.inside():
        with last_statement() as sent:
            bench.near(vector, bench.scope())
        near = bare(sent)
        with last_statement() as sent:
            bench.lexical_leg(text, bench.scope())
        return embed, near, bare(sent)


def whole_request(bench: LegBench, server: asking.Server, questions: Sequence[str]) -> None:
    """Compare a request with the floor, with a known vector, and from the cache. Every other time
    the request is measured first, because the second finds data in the processor's caches."""
    floors, fresh, warm, cached, plain = [], [], [], [], []
    answers, quicker, known = [], [], []
    encode = _library_encode(bench.embedder)
    for number, text in enumerate(questions):
        if number % 2:
            floors.append(floor(bench, text))
        seconds, answer = server.ask(text)
        if not number % 2:
            floors.append(floor(bench, text))
        plain.append(timed(lambda: encode(text))[0])  # noqa: B023
        fresh.append(seconds)
        answers.append(answer)
        seconds, answer = server.ask(text, k=TOP - 1)
        warm.append(seconds)
        quicker.append(answer)
        again = [server.ask(text) for _ in range(3)]
        cached.append(min(seconds for seconds, _ in again))
        known.append(again[-1][1])
    whole = [sum(parts) for parts in floors]
    with_library = [sum(parts[1:]) + own for parts, own in zip(floors, plain, strict=True)]
    say(f"\n### A whole request, {len(questions)} natural questions, p50 / p95 in ms\n")
    say("| | p50 / p95 | to the floor, by p50 |")
    say("|---|--:|--:|")
    for name, part in zip(PARTS, zip(*floors, strict=True), strict=True):
        say(f"| floor: {name} alone | {both(part)} | |")
    say(f"| floor: all three | {both(whole)} | 1.00 |")
    say(f"| POST /query, nothing cached | {both(fresh)} | {middle(fresh) / middle(whole):.2f} |")
    say(f"| the same, its vector known | {both(warm)} | |")
    say(f"| the same from the cache | {both(cached)} | |")
    say(
        f"\nwith sentence-transformers' own encode ({both(plain)}) the floor is "
        f"{both(with_library)}, and the request {middle(fresh) / middle(with_library):.2f} of it"
    )
    own = [
        np.median([a["diagnostics"]["times_ms"]["total"] for a in some])
        for some in (answers, known)
    ]
    say(
        f"uncached to cached, p50: {middle(fresh) / middle(cached):.1f}; "
        f"of the search alone, by the service's own clock: {own[0]:.1f} to {own[1]:.1f} ms"
    )
    say(f"stages (median ms, lexical beside embed): {asking.stages(answers)}")
    say(f"the same, its vector known: {asking.stages(quicker)}")
    plans = {answer["diagnostics"]["dense_plan"] for answer in answers}
    say(f"plans: {', '.join(sorted(plans))}; SQL statements: {count_statements(bench, questions)}")


def _library_encode(embedder: Any) -> Callable[[str], Any]:
    """Time the same model in its own library, on one thread like ours."""
    import torch
    from sentence_transformers import SentenceTransformer

    torch.set_num_threads(1)
    model = SentenceTransformer(str(embedder.files.directory), device="cpu")
    model.encode("warm")
    return lambda text: model.encode(text, show_progress_bar=False)


def count_statements(bench: LegBench, questions: Sequence[str]) -> str:
    """Count SQL statements in all threads, without BEGIN and COMMIT."""
    from django.db.backends.utils import CursorWrapper

    from retrieval.requests import SearchRequest
    from retrieval.search import search

    plain, counts = CursorWrapper.execute, []
    for text in questions[:20]:
        seen: list[Any] = []

        def note(self: Any, sql: Any, params: Any = None, seen: list[Any] = seen) -> Any:
            seen.append(sql)
            return plain(self, sql, params)

        CursorWrapper.execute = note  # type: ignore[method-assign]
        try:
            search(bench.corpus.tenant.pk, SearchRequest(query=text, k=TOP - 2))
        finally:
            CursorWrapper.execute = plain  # type: ignore[method-assign]
        counts.append(len(seen))
    return f"{min(counts)} to {max(counts)} a search"


def warm_up() -> None:
    """Read the tables once, like a service that has been running for a day. The statements of the
    floor also run twice."""
    from evaluation.benchmarks.data.corpus import owner_rows

    owner_rows("SELECT sum(length(content)), sum(l2_norm(embedding)) FROM documents_chunk")
    owner_rows("SELECT sum(length(search_vector)), sum(l2_norm(impacts)) FROM documents_chunkterms")
    owner_rows("SELECT count(metadata) FROM documents_document")


def build_tantivy(corpus: Any) -> Callable[[str], Any]:
    import tantivy

    schema = tantivy.SchemaBuilder()
    schema.add_text_field("body", tokenizer_name="en_stem", index_option="freq")
    index = tantivy.Index(schema.build())
    writer = index.writer(200_000_000, 1)
    for title, text in zip(corpus.titles, corpus.texts, strict=True):
        writer.add_document(tantivy.Document(body=f"{title} {text}"))
    writer.commit()
    writer.wait_merging_threads()
    index.reload()
    searcher = index.searcher()

    def ask(text: str) -> Any:
        words = _NO_WORD.sub(" ", text).lower()
        return searcher.search(index.parse_query(words, ["body"]), CANDIDATES).hits

    return ask


def ts_rank_or(bench: LegBench, text: str) -> Callable[[], Any]:
    """Time PostgreSQL's own ranking of the same rows, as the owner, without row-level security."""
    from evaluation.benchmarks.data.corpus import owner_rows

    ((wanted,),) = owner_rows(
        "SELECT string_agg(quote_literal(lexeme), ' | ') FROM unnest(to_tsvector('english', %s))",
        [_NO_WORD.sub(" ", text)],
    )
    statement = """
        SELECT chunk_id, ts_rank(search_vector, %(wanted)s::tsquery, 1) AS rank
        FROM documents_chunkterms
        WHERE namespace_id = %(tenant)s AND search_vector @@ %(wanted)s::tsquery
        ORDER BY rank DESC LIMIT 100
    """
    parameters = {"wanted": wanted, "tenant": bench.corpus.tenant.pk}
    return lambda: owner_rows(statement, parameters)


def lexical_leg(bench: LegBench, kind: str, questions: Sequence[str]) -> None:
    ours, theirs, stock, overlaps = [], [], [], []
    for text in questions:
        with bench.inside():
            scope = bench.scope()
            seconds, found = timed(lambda: bench.lexical_leg(text, scope))  # noqa: B023
            ours.append(seconds)
            exact = bench.lexical_leg(text, scope, budget=10**9)
        theirs.append(timed(lambda: bench.tantivy(text))[0])  # noqa: B023
        stock.append(timed(ts_rank_or(bench, text))[0])
        wanted = bench.rows_of(exact)
        overlaps.append(len(wanted & bench.rows_of(found)) / len(wanted) if wanted else 1.0)
    say(
        f"| {kind} | {both(ours)} | {both(theirs)} | {both(stock)} "
        f"| {middle(ours) / middle(theirs):.1f} | {middle(stock) / middle(ours):.1f} "
        f"| {np.mean(overlaps):.3f} |"
    )


def vector_leg(bench: LegBench, questions: Sequence[str]) -> None:
    """Measure the recall of the first ten, compared with numpy in single precision."""
    indexed, scanned, times = [], [], []
    for text in questions:
        vector = bench.vector_of(text)
        exact = bench.nearest(vector)
        with bench.inside():
            scope = bench.scope()
            seconds, (found, _) = timed(lambda: bench.near(vector, scope, exact_up_to=0))  # noqa: B023
            times.append(seconds)
            indexed.append(len(exact & bench.rows_of(found)) / TOP)
            halves, _ = bench.near(vector, scope, exact_up_to=10**9)
            scanned.append(len(exact & bench.rows_of(halves)) / TOP)
    say(f"\n### The vector leg, {len(questions)} questions\n")
    say(f"halfvec, exact scan: recall@10 {np.mean(scanned):.4f} of float32's")
    say(f"HNSW over halfvec: recall@10 {np.mean(indexed):.4f}, p50 / p95 {both(times)} ms")


def filtered(bench: LegBench, server: asking.Server, questions: Sequence[str]) -> None:
    from evaluation.benchmarks.data.corpus import SHARES

    say(f"\n### Filters by tag, {len(questions)} questions, p50 / p95 of the whole request in ms\n")
    say("| leaves | vector recall@10 | words overlap@10 | request | plans |")
    say("|---|--:|--:|--:|---|")
    for tag, share in SHARES.items():
        rows = bench.corpus.rows_tagged(tag)
        recalls, overlaps, times, plans = [], [], [], set()
        for text in questions:
            vector = bench.vector_of(text)
            with bench.inside():
                scope = bench.scope([tag])
                near, plan = bench.near(vector, scope)
                found = bench.rows_of(bench.lexical_leg(text, scope))
                wanted = bench.rows_of(bench.lexical_leg(text, scope, budget=10**9))
            exact = {row for row in bench.nearest(vector, rows) if rows[row]}
            plans.add(plan)
            recalls.append(len(exact & bench.rows_of(near)) / len(exact) if exact else 1.0)
            overlaps.append(len(found & wanted) / len(wanted) if wanted else 1.0)
            times.append(server.ask(text, filters={"tags": [tag]})[0])
        say(
            f"| {share:.1%} ({rows.sum()} chunks) | {np.mean(recalls):.3f} "
            f"| {np.mean(overlaps):.3f} | {both(times)} | {', '.join(sorted(plans))} |"
        )


def small_tenants(bench: LegBench, questions: Sequence[str]) -> None:
    """Measure tenants with fewer chunks in the same tables and vector index."""
    corpus = bench.corpus
    say(f"\n### Small tenants beside the large one, {len(questions)} questions\n")
    say("| chunks | share of the table | vector recall@10 | p50 / p95 in ms | plan |")
    say("|--:|--:|--:|--:|---|")
    others = [_small_tenant(bench, share) for share in TENANTS]
    everything = len(corpus.ids) + sum(len(own.corpus.ids) for own in others)
    for own in others:
        rows = len(own.corpus.ids)
        recalls, times, plans = [], [], set()
        for text in questions:
            vector = bench.vector_of(text)
            with own.inside():
                scope = own.scope()
                seconds, (near, plan) = timed(lambda: own.near(vector, scope))  # noqa: B023
            times.append(seconds)
            plans.add(plan)
            recalls.append(len(own.nearest(vector) & own.rows_of(near)) / min(TOP, rows))
        say(
            f"| {rows} | {rows / everything:.1%} | {np.mean(recalls):.3f} | {both(times)} "
            f"| {', '.join(sorted(plans))} |"
        )


def _small_tenant(bench: LegBench, share: float) -> LegBench:
    """Return a tenant with the first documents of the corpus, from an earlier run if it exists."""
    from documents.accounts import keys
    from documents.models import Namespace
    from evaluation.benchmarks.data.corpus import first_of, insert
    from ragsite.database.tenancy import operator

    slug = f"tenant-{int(1000 * share)}"
    with operator():
        known = Namespace.objects.filter(slug=slug).first()
        tenant = known or keys.create_namespace(slug)
    corpus = first_of(bench.corpus, tenant, share=share)
    if not tenant.chunk_count:
        insert(corpus)
    return LegBench(corpus, bench.embedder, bench.vectors)


def vectors_by(kind: str, embedder: Any) -> Any:
    from evaluation.benchmarks.data.vectors import KeptVectors, WordVectors

    return KeptVectors(embedder) if kind == "model" else WordVectors(embedder)


def open_corpus(path: Path, *, rows: int, vectors: Any) -> Any:
    from documents.accounts import keys
    from documents.models import Namespace
    from evaluation.benchmarks.data.corpus import Corpus, load, read_pages
    from ragsite.database.tenancy import operator

    with operator():
        known = Namespace.objects.filter(slug="scale").first()
        tenant = known or keys.create_namespace("scale")
        profile = tenant.active_profile
    pages = read_pages(path, rows=rows, owner=tenant.pk)
    texts = [text for page in pages for text in page.texts]
    corpus = Corpus(tenant, profile, pages, vectors.of(texts))
    if not tenant.chunk_count:
        seconds, _ = timed(lambda: load(corpus))
        say(f"{len(texts)} chunks loaded and indexed in {seconds:.0f} s")
    elif tenant.chunk_count != rows:
        raise SystemExit("This --home has a different number of rows: use another one.")
    return corpus


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="passages, one JSON on a line")
    parser.add_argument("--rows", type=int, default=97_768)
    parser.add_argument("--questions", type=int, default=100)
    parser.add_argument(
        "--vectors",
        choices=["model", "words"],
        default="model",
        help="Those of the model, or means of its word vectors: seconds instead of an hour.",
    )
    parser.add_argument("--home", type=Path, help="Keep the database here for the next run.")
    options = parser.parse_args()
    os.environ |= {"RAGSITE_PG_FSYNC": "off", "EMBEDDING_THREADS": "1"}
    stage.set_up(options.home)
    from documents.accounts import keys
    from documents.models import IndexProfile
    from documents.profiles import profiles
    from ragsite.database.tenancy import operator

    say(stage.machine(PACKAGES))
    with operator():
        embedder = profiles.embedder_of(IndexProfile.objects.get(name="default"))
    vectors = vectors_by(options.vectors, embedder)
    corpus = open_corpus(options.data, rows=options.rows, vectors=vectors)
    embedder.warm()
    bench = LegBench(corpus, embedder, vectors, build_tantivy(corpus))
    natural = asking.natural_questions(corpus.texts, options.questions)
    short = asking.keyword_questions(corpus.texts, options.questions)
    with operator():
        _, key = keys.issue(corpus.tenant, scopes=("read",), limits={"search": 0})
    say(f"{len(corpus.pages)} documents, {len(corpus.ids)} chunks, vectors: {options.vectors}")
    warm_up()
    with asking.running_server(key) as server:
        for text in short[:10]:
            server.ask(text, k=1)
            floor(bench, text)
        whole_request(bench, server, natural)
        say("\n### The lexical leg by itself, top 100, p50 / p95 in ms\n")
        say(
            "| questions | ours | tantivy | ts_rank OR | ours:tantivy | ts_rank:ours | overlap@10 |"
        )
        say("|---|--:|--:|--:|--:|--:|--:|")
        lexical_leg(bench, "natural", natural)
        lexical_leg(bench, "keywords", short)
        vector_leg(bench, natural)
        filtered(bench, server, natural[: options.questions // 3])
        others = asking.natural_questions(corpus.texts[::-1], 2 * options.questions)
        say("\n### Throughput, answers a second, nothing cached\n")
        for clients in (1, 4):
            some = others[: options.questions] if clients == 1 else others[options.questions :]
            say(f"{clients} client(s): {server.throughput(some, clients=clients):.1f}")
    small_tenants(bench, natural[: options.questions // 3])


if __name__ == "__main__":
    main()
