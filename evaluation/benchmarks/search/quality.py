"""Measure retrieval quality on test collections, through the whole service, compared with bm25s.

    make bench-quality DATA=FOLDER SETS="scifact cisi"   (folders in BEIR's layout)

Documents are uploaded by POST /ingest and chunked by the default profile; every judged query goes
through POST /query, and a document has the rank of its first passage. Vectors are kept between
runs, and with --home the database too: then only the queries run again.
"""

import argparse
import logging
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import ir_measures
import numpy as np
from ir_measures import RR, R, nDCG

from evaluation.benchmarks.data.beir import BeirCollection
from evaluation.benchmarks.service import stage
from evaluation.benchmarks.service.client import DEPTH, Run, describe, open_service, say

MEASURES = (nDCG @ 10, R @ 100, RR @ 10)
SYSTEMS: dict[str, dict[str, str]] = {
    "hybrid (weighted)": {},
    "hybrid (rrf)": {"fusion": "rrf"},
    "semantic": {"mode": "semantic"},
    "lexical": {"mode": "lexical"},
}
RESAMPLES = 10_000
PACKAGES = ("Django", "pgvector", "sentence-transformers", "torch", "bm25s", "ir-measures")

Scores = dict[str, np.ndarray]  # measure → one figure per query, in the same order


def ask_bm25s(collection: BeirCollection) -> Run:
    import bm25s  # here, because other benchmarks do not need requirements/bench.txt
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


def judge(collection: BeirCollection, run: Run) -> Scores:
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
    """Return the 95 % interval of the mean difference by a paired bootstrap."""
    chance = np.random.default_rng(7)
    gains = ours - theirs
    drawn = chance.integers(0, len(gains), (RESAMPLES, len(gains)))
    low, high = np.percentile(gains[drawn].mean(axis=1), [2.5, 97.5])
    return float(low), float(high)


def report(name: str, collection: BeirCollection, systems: Mapping[str, Scores]) -> None:
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
    parser.add_argument(
        "--data", type=Path, required=True, help="Folder with the test collections."
    )
    parser.add_argument("--sets", nargs="+", default=["scifact", "cisi", "cacm"])
    parser.add_argument("--home", type=Path, help="Keep the database here for the next run.")
    options = parser.parse_args(arguments)
    os.environ |= {
        "CACHE_RESULTS_SECONDS": "0",
        "RAGSITE_PG_FSYNC": "off",
        "EMBEDDING_THREADS": "1",  # on a busy core, two threads wait for each other
    }
    stage.set_up(options.home)
    from django.conf import settings

    logging.getLogger("bm25s").setLevel(logging.WARNING)
    embedders: dict[str, Any] = settings.EMBEDDERS
    embedders["default"]["BACKEND"] = "evaluation.benchmarks.data.vectors.KeptEmbedder"
    say(stage.machine(PACKAGES))
    for name in options.sets:
        collection = BeirCollection(options.data / name)
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
