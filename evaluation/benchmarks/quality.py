"""Retrieval quality on test collections, through the whole service, beside bm25s.

    make bench-quality DATA=FOLDER SETS="scifact cisi"   (folders in BEIR's layout)

Documents come in by POST /ingest and are chunked by the default profile; every judged query goes
through POST /query, and a document ranks where its first passage does. Vectors are kept between
runs, and with --home the database too: then only the queries run again.
"""

import argparse
import io
import logging
import os
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ir_measures
import numpy as np
from ir_measures import RR, R, nDCG

from evaluation.benchmarks import stage
from evaluation.benchmarks.beir import Collection

DEPTH = 100
BATCH = 100
MEASURES = (nDCG @ 10, R @ 100, RR @ 10)
SYSTEMS: dict[str, dict[str, str]] = {
    "hybrid (weighted)": {},
    "hybrid (rrf)": {"fusion": "rrf"},
    "semantic": {"mode": "semantic"},
    "lexical": {"mode": "lexical"},
}
RESAMPLES = 10_000
PACKAGES = ("Django", "pgvector", "sentence-transformers", "torch", "bm25s", "ir-measures")

Run = dict[str, list[str]]  # by query the documents, best first
Scores = dict[str, np.ndarray]  # by measure one figure per query, in one order


def say(line: str = "") -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


@dataclass(frozen=True, slots=True)
class Service:
    """One collection in a namespace of its own, spoken to as a client does."""

    client: Any
    namespace_id: Any
    profile: Any
    key: str

    def post(self, path: str, body: Mapping[str, Any]) -> Any:
        answer = self.client.post(
            f"/api/v1/{path}",
            body,
            content_type="application/json",
            headers={"Authorization": f"Bearer {self.key}"},
        )
        if answer.status_code >= 300:
            raise SystemExit(f"{path}: {answer.status_code} {answer.content[:500]!r}")
        return answer.json()

    def take_in(self, collection: Collection) -> None:
        """What is there already, from an earlier run, is answered as a duplicate and costs little.

        An article without a text is known by its title: that is then what it says.
        """
        from documents.ingestion import terms
        from documents.jobs import queue

        queue.requeue_stalled()  # what an earlier run left when it was killed
        started, indexed = time.monotonic(), 0
        documents = [
            {
                "content": article.text.strip() or article.title,
                "title": article.title or article.name,
                "source_uri": article.name,
                "media_type": "text/plain",
            }
            for article in collection.articles
        ]
        self.embed_ahead(documents)
        for start in range(0, len(documents), BATCH):
            batch = documents[start : start + BATCH]
            self.post("ingest", {"documents": batch, "on_duplicate": "keep"})
            indexed += stage.work()
        terms.count(self.namespace_id, self.profile)
        say(f"{indexed} documents indexed in {time.monotonic() - started:.0f} s")

    def embed_ahead(self, documents: Sequence[Mapping[str, str]]) -> None:
        """All chunks at once, sorted by length, is many times faster than document by document;
        the pipeline then finds every vector among the kept ones."""
        from documents.chunking.context_headers import with_headers
        from documents.extractors import extractor_for
        from documents.profiles import profiles

        embedder = profiles.embedder_of(self.profile)
        splitter = profiles.splitter_of(self.profile, embedder)
        reader = extractor_for("text/plain")
        texts = []
        for document in documents:
            extracted = reader.extract_file(io.BytesIO(document["content"].encode()), name="")
            passages = splitter.split(extracted)
            if self.profile.contextual_header:
                texts += with_headers(
                    passages,
                    title=document["title"],
                    count_tokens=embedder.count_tokens,
                    limit=embedder.max_tokens,
                )
            else:
                texts += [passage.text for passage in passages]
        embedder.embed_batch(texts)

    def ask(self, collection: Collection, options: Mapping[str, str]) -> Run:
        found = {}
        for name, text in collection.queries.items():
            body = {
                "query": text,
                "k": DEPTH,
                "max_per_document": 1,
                "token_budget": 1_000_000,
                **options,
            }
            answer = self.post("query", body)
            if answer["diagnostics"]["fallbacks"]:
                raise SystemExit(f"{name}: {answer['diagnostics']['fallbacks']}")
            found[name] = [hit["source_uri"] for hit in answer["results"]]
        return found


def open_service(name: str) -> Service:
    from django.test import Client

    from documents.accounts import keys
    from documents.models import Namespace
    from ragsite.database.tenancy import operator

    with operator():
        tenant = Namespace.objects.filter(slug=name).first() or keys.create_namespace(name)
        _, key = keys.issue(tenant, scopes=("read", "write"))
        return Service(Client(SERVER_NAME="localhost"), tenant.pk, tenant.active_profile, key)


def describe(service: Service) -> str:
    """What the collection became: a wrong language would hide whole documents from words."""
    from documents.models import Document, Namespace
    from ragsite.database.tenancy import namespace

    with namespace(service.namespace_id):
        tenant = Namespace.objects.get(pk=service.namespace_id)
        languages = Counter(Document.objects.values_list("language", flat=True))
        failed = Document.objects.exclude(status="ready").count()
    spoken = ", ".join(f"{code or '?'} {count}" for code, count in languages.most_common(8))
    return f"{tenant.chunk_count} chunks, {failed} documents failed; languages: {spoken}"


def ask_bm25s(collection: Collection) -> Run:
    import bm25s  # here, because other benchmarks do without requirements/bench.txt
    import Stemmer

    stemmer = Stemmer.Stemmer("english")

    def tokens(texts: list[str]) -> Any:
        return bm25s.tokenize(texts, stopwords="en", stemmer=stemmer, show_progress=False)

    index = bm25s.BM25(method="lucene", k1=1.2, b=0.75)
    index.index(tokens(collection.texts), show_progress=False)
    rows, scores = index.retrieve(
        tokens(list(collection.queries.values())), k=DEPTH, show_progress=False
    )
    ids = collection.ids
    return {
        query: [ids[row] for row, score in zip(found, given, strict=True) if score > 0]
        for query, found, given in zip(collection.queries, rows, scores, strict=True)
    }


def judge(collection: Collection, run: Run) -> Scores:
    scored = {
        query: {document: 1 / rank for rank, document in enumerate(documents, start=1)}
        for query, documents in run.items()
    }
    found = {
        (str(metric.measure), metric.query_id): metric.value
        for metric in ir_measures.iter_calc(MEASURES, collection.relevant, scored)
    }
    return {
        str(measure): np.array(
            [found.get((str(measure), query), 0.0) for query in collection.queries]
        )
        for measure in MEASURES
    }


def interval(ours: np.ndarray, theirs: np.ndarray) -> tuple[float, float]:
    """95 % of the mean difference when the queries are drawn again, in pairs."""
    chance = np.random.default_rng(7)
    gains = ours - theirs
    drawn = chance.integers(0, len(gains), (RESAMPLES, len(gains)))
    low, high = np.percentile(gains[drawn].mean(axis=1), [2.5, 97.5])
    return float(low), float(high)


def report(name: str, collection: Collection, systems: Mapping[str, Scores]) -> None:
    say(f"\n### {name}: {len(collection.articles)} documents, {len(collection.queries)} queries\n")
    say("| | " + " | ".join(str(measure) for measure in MEASURES) + " |")
    say("|---|" + "--:|" * len(MEASURES))
    for system, scores in systems.items():
        say(f"| {system} | " + " | ".join(f"{s.mean():.4f}" for s in scores.values()) + " |")
    ndcg = {system: scores[str(MEASURES[0])] for system, scores in systems.items()}
    ours = ndcg["hybrid (weighted)"]
    best = max(("bm25s", "semantic"), key=lambda system: ndcg[system].mean())
    for one, other in (("hybrid (weighted)", best), ("lexical", "bm25s")):
        low, high = interval(ndcg[one], ndcg[other])
        ratio = ndcg[one].mean() / ndcg[other].mean()
        gain = ndcg[one].mean() - ndcg[other].mean()
        say(
            f"\nnDCG@10 of {one} − {other}: {gain:+.4f}, 95 % [{low:+.4f}, {high:+.4f}], "
            f"ratio {ratio:.3f}"
        )
    rrf = interval(ours, ndcg["hybrid (rrf)"])
    say(f"\nweighted − rrf: 95 % [{rrf[0]:+.4f}, {rrf[1]:+.4f}]")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="Folder that holds the sets.")
    parser.add_argument("--sets", nargs="+", default=["scifact", "cisi", "cacm"])
    parser.add_argument("--home", type=Path, help="Keep the database here for the next run.")
    options = parser.parse_args(arguments)
    os.environ |= {
        "CACHE_RESULTS_SECONDS": "0",
        "RAGSITE_PG_FSYNC": "off",
        "EMBEDDING_THREADS": "1",  # two wait for each other where a core is busy
    }
    stage.set_up(options.home)
    from django.conf import settings

    logging.getLogger("bm25s").setLevel(logging.WARNING)
    embedders: dict[str, Any] = settings.EMBEDDERS
    embedders["default"]["BACKEND"] = "evaluation.benchmarks.vectors.KeptEmbedder"
    say(stage.machine(PACKAGES))
    for name in options.sets:
        collection = Collection(options.data / name)
        service = open_service(name)
        service.take_in(collection)
        say(describe(service))
        systems = {
            system: judge(collection, service.ask(collection, body))
            for system, body in SYSTEMS.items()
        }
        systems["bm25s"] = judge(collection, ask_bm25s(collection))
        report(name, collection, systems)


if __name__ == "__main__":
    main()
