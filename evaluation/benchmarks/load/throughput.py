"""Measure answers a second and CPU per question, against the floor of the same run.

    make bench-throughput DATA=FOLDER [SET=scifact] [ARGS="--beside CHECKOUT"]

FOLDER holds test collections in BEIR's layout. The floor is what any service with this model and
this database has to do: embed the question, and run the two bare statements. Rounds of all sides
take turns. Before each the namespace's revision moves on, so that no result is in the cache;
questions' vectors are not kept at all. `--beside` measures the web server of another checkout, on
the same database.
"""

import argparse
import os
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from documents.embedders.base import Embedder
from documents.embedders.sentence_transformers import SentenceTransformersEmbedder
from evaluation.benchmarks.data.beir import BeirCollection
from evaluation.benchmarks.load.clients import TimedReply, ask_all
from evaluation.benchmarks.load.processes import ProcessTree, postgres_tree
from evaluation.benchmarks.service import asking, stage
from evaluation.benchmarks.service.asking import both
from evaluation.benchmarks.service.client import open_service, say

CLIENTS = (1, 4, 16)
K = 10
CANDIDATES = 100
FLOOR_EF = 100  # ef of HNSW, the minimum that returns so many
PACKAGES = ("Django", "pgvector", "onnxruntime", "uvicorn")

# Only the nearest chunks, without their vectors and their words' scores.
_NEAREST = """
    SELECT id, document_id, embedding::halfvec({dimensions}) <=> %(vector)s::halfvec({dimensions})
    FROM documents_chunk WHERE namespace_id = %(namespace)s AND profile_id = %(profile)s
    ORDER BY embedding::halfvec({dimensions}) <=> %(vector)s::halfvec({dimensions})
    LIMIT %(limit)s
"""


@dataclass
class ServerFigures:
    """The measurements of one server with one number of clients, or of the floor."""

    seconds: float = 0.0
    web: float = 0.0  # CPU seconds
    postgres: float = 0.0
    times: list[float] = field(default_factory=list)
    errors: int = 0

    def row(self, name: str, floor: "ServerFigures | None") -> str:
        asked = len(self.times)
        web, postgres = 1000 * self.web / asked, 1000 * self.postgres / asked
        ratio = "1.00" if floor is None else f"{self.cpu / floor.cpu:.2f}"
        return (
            f"| {name} | {self.rate:.1f} | {both(self.times)} | {web:.1f} | {postgres:.1f} "
            f"| {web + postgres:.1f} | {ratio} | {self.errors} |"
        )

    @property
    def rate(self) -> float:
        return len(self.times) / self.seconds

    @property
    def cpu(self) -> float:
        """Seconds per question."""
        return (self.web + self.postgres) / len(self.times)


@dataclass
class Bench:
    service: Any  # of benchmarks.service.client
    collection: BeirCollection
    database: ProcessTree
    embedder: Embedder  # the model itself; the service may use one with a cache

    def forget(self) -> None:
        """Increase the revision, so that cached results are outdated."""
        from evaluation.benchmarks.data.corpus import owner_rows

        owner_rows(
            "UPDATE documents_namespace SET revision = revision + 1 WHERE id = %s RETURNING id",
            [self.service.namespace_id],
        )

    def ask(
        self, server: asking.Server, questions: Sequence[str], clients: int, to: ServerFigures
    ) -> Any:
        self.forget()
        web = ProcessTree(server.process)
        before = web.cpu_seconds(), self.database.cpu_seconds()
        bodies = [{"query": question, "k": K} for question in questions]
        seconds, outcomes = ask_all(server.url, server.key, bodies, clients=clients)
        to.web += web.cpu_seconds() - before[0]
        to.postgres += self.database.cpu_seconds() - before[1]
        to.seconds += seconds
        to.times += [outcome.seconds for outcome in outcomes]
        to.errors += sum(outcome.status != 200 for outcome in outcomes)
        return outcomes

    def floor(self, questions: Sequence[str], to: ServerFigures) -> None:
        """Embed each question, and run the two statements, one after the other."""
        prepared = [self._wordy_statement(question) for question in questions]
        before = self.database.cpu_seconds()
        started, own = time.perf_counter(), time.process_time()
        for question, wordy in zip(questions, prepared, strict=True):
            at = time.perf_counter()
            self._bare_statements(self.embedder.embed_query(question), wordy)
            to.times.append(time.perf_counter() - at)
        to.seconds += time.perf_counter() - started
        to.web += time.process_time() - own
        to.postgres += self.database.cpu_seconds() - before

    def _wordy_statement(self, question: str) -> tuple[str, Any]:
        """Return the lexical leg's own statement, without the analysis of the question."""
        from django.conf import settings

        from documents.text.lexemes import parse_query
        from evaluation.benchmarks.search.single_legs import last_statement
        from ragsite.database.tenancy import namespace
        from retrieval.candidates import lexical
        from retrieval.candidates.scope import SearchScope

        tenant, profile = self.service.namespace_id, self.service.profile
        with namespace(tenant), last_statement() as sent:
            query = lexical.analyse(
                parse_query(question), namespace_id=tenant, profile_id=profile.pk
            )
            if query is None:
                raise SystemExit("The namespace's words have not been counted.")
            lexical.find(
                query,
                profile_id=profile.pk,
                scope=SearchScope(chunks=len(self.collection.articles)),
                limit=CANDIDATES,
                budget=settings.SEARCH["lexical_budget"],
                enough=K,
            )
        return sent[-1]

    def _bare_statements(self, vector: Sequence[float], wordy: tuple[str, Any]) -> None:
        from django.db import connection

        from documents.ingestion.embedding import as_text
        from ragsite.database.tenancy import namespace

        profile, tenant = self.service.profile, self.service.namespace_id
        with namespace(tenant), connection.cursor() as cursor:
            cursor.execute(f"SET LOCAL hnsw.ef_search = {FLOOR_EF}")
            cursor.execute(
                _NEAREST.format(dimensions=profile.dimensions),
                {
                    "vector": as_text(vector),
                    "namespace": tenant,
                    "profile": profile.pk,
                    "limit": CANDIDATES,
                },
            )
            cursor.fetchall()
            cursor.execute(*wordy)
            cursor.fetchall()


def ndcg(collection: BeirCollection, outcomes: Sequence[TimedReply]) -> float:
    """Return nDCG@10 of the documents of these ten passages."""
    gains = []
    for (name, _), outcome in zip(collection.queries.items(), outcomes, strict=True):
        documents = dict.fromkeys(hit["source_uri"] for hit in outcome.answer()["results"])
        grades = collection.relevant[name]
        found = [grades.get(document, 0) for document in documents]
        best = sorted(grades.values(), reverse=True)[:K]
        gains.append(_discounted(found) / _discounted(best))
    return float(np.mean(gains))


def _discounted(grades: Sequence[int]) -> float:
    return float(sum(grade / np.log2(place + 2) for place, grade in enumerate(grades)))


def measure(bench: Bench, servers: Mapping[str, asking.Server], *, rounds: int, each: int) -> None:
    questions = list(bench.collection.queries.values())
    floor, sides = (
        ServerFigures(),
        {(name, n): ServerFigures() for n in CLIENTS for name in servers},
    )
    for server in servers.values():  # load whatever the first questions load
        bench.ask(server, questions[:20], 4, ServerFigures())
    bench.floor(questions[:20], ServerFigures())
    for number in range(rounds):
        start = number * each % len(questions)
        some = (questions * 2)[start : start + each]
        bench.floor(some, floor)
        order = list(sides) if number % 2 else list(reversed(sides))
        for name, clients in order:
            bench.ask(servers[name], some, clients, sides[name, clients])
    say(f"\n{rounds} rounds of {each} questions, k={K}, nothing cached; CPU in ms per question\n")
    say("| | answers/s | p50 / p95 ms | web | Postgres | together | to the floor | errors |")
    say("|---|--:|--:|--:|--:|--:|--:|--:|")
    say(floor.row("floor: embedding and two statements, one after the other", None))
    for (name, clients), side in sides.items():
        say(side.row(f"{name}, {clients} client{'s' if clients > 1 else ''}", floor))
    if len(servers) > 1:
        ours, theirs = list(servers)
        for clients in CLIENTS:
            faster = sides[ours, clients].rate / sides[theirs, clients].rate
            cheaper = sides[ours, clients].cpu / sides[theirs, clients].cpu
            say(f"\n{clients}: answers a second × {faster:.2f}, CPU × {cheaper:.2f}")
    for name, server in servers.items():
        outcomes = bench.ask(server, questions, 4, ServerFigures())
        stages = asking.stages([outcome.answer() for outcome in outcomes])
        say(f"\n{name}: nDCG@10 {ndcg(bench.collection, outcomes):.4f}; stages with 4: {stages}")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="Folder with test collections.")
    parser.add_argument("--set", default="scifact")
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--each", type=int, default=100, help="Questions of a round.")
    parser.add_argument("--beside", type=Path, help="Another checkout of the service.")
    parser.add_argument("--home", type=Path, help="Keep the database here for the next run.")
    options = parser.parse_args()
    os.environ |= {
        "CACHE_QUERIES_SECONDS": "0",
        "RAGSITE_PG_FSYNC": "off",
        "EMBEDDING_THREADS": "1",
    }
    stage.set_up(options.home)
    say(stage.machine(PACKAGES))
    bench, key = opened(options.data / options.set)
    with ExitStack() as stack:
        servers = {"this": stack.enter_context(asking.running_server(key))}
        if options.beside:
            beside = asking.running_server(key, code=options.beside)
            servers["beside"] = stack.enter_context(beside)
        measure(bench, servers, rounds=options.rounds, each=options.each)


def opened(folder: Path) -> tuple[Bench, str]:
    """Ingest the collection, unless an earlier run has done so, and return a key without a
    limit."""
    from django.conf import settings

    from documents.accounts import keys
    from documents.models import Namespace
    from ragsite.database.tenancy import operator

    collection = BeirCollection(folder)
    embedders: dict[str, Any] = settings.EMBEDDERS
    embedders["default"]["BACKEND"] = "evaluation.benchmarks.data.vectors.KeptEmbedder"
    service = open_service(folder.name)
    with operator():
        tenant = Namespace.objects.get(pk=service.namespace_id)
        if tenant.chunk_count < len(collection.articles):
            service.take_in(collection)
        _, key = keys.issue(tenant, scopes=("read",), limits={"search": 0})
    model = SentenceTransformersEmbedder(threads=1)
    model.warm()
    return Bench(service, collection, postgres_tree(), model), key


if __name__ == "__main__":
    main()
