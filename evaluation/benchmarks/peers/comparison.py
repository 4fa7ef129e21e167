"""Compare Ragsite with other retrieval libraries: quality, speed, memory and disk, in one run.

    make bench DATA=FOLDER SETS="scifact cisi cacm" [SCALE=passages.jsonl.gz]

All use the same documents, questions and model. Documents are embedded once for all;
indexing is timed without embedding, questions with it. Ours are chunked and go through the whole
service over HTTP; the others index title and text as one, in their own process.
"""

import argparse
import gzip
import json
import os
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from evaluation.benchmarks.data.beir import BeirCollection
from evaluation.benchmarks.peers.libraries import PEERS, postgres_megabytes
from evaluation.benchmarks.search.quality import interval, judge
from evaluation.benchmarks.service import asking, stage
from evaluation.benchmarks.service.client import DEPTH, Service, open_service, say

OURS = "Ragsite"
PACKAGES = ("Django", "pgvector", "sentence-transformers", "torch", "ir-measures")


@dataclass(frozen=True)
class Measured:
    indexing: float
    seconds: list[float]
    megabytes: float
    disk: float
    run: dict[str, list[str]]
    version: str = ""

    def row(self, name: str, quality: str = "") -> str:
        p50, p95 = (asking.middle(self.seconds, share) for share in (50, 95))
        return (
            f"| {name} |{quality} {self.indexing:.1f} | {p50:.1f} / {p95:.1f} "
            f"| {self.megabytes:.0f} | {self.disk:.0f} |"
        )


def prepare(
    folder: Path,
    documents: Mapping[str, str],
    questions: Mapping[str, str],
    vectors: Any,
    model: Path,
    *,
    own_questions: bool = False,
) -> None:
    """Write the input of a peer to its folder."""
    _write(folder / "documents.jsonl", documents)
    _write(folder / "questions.jsonl", questions)
    np.save(folder / "documents.npy", vectors.of(list(documents.values())))
    if own_questions:
        np.save(folder / "questions.npy", vectors.of(list(questions.values())))
    (folder / "model.json").write_text(json.dumps({"path": str(model)}))


def _write(path: Path, texts: Mapping[str, str]) -> None:
    with path.open("w") as lines:
        for pk, text in texts.items():
            lines.write(json.dumps({"id": pk, "text": text}) + "\n")


def measure_peer(name: str, folder: Path, python: Path) -> Measured:
    quiet = {"TOKENIZERS_PARALLELISM": "false", "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
    script = Path(__file__).with_name("libraries.py")
    done = subprocess.run(  # noqa: S603
        [str(python), str(script), name, str(folder)],
        env={**os.environ, **quiet},
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"{name} ended with {done.returncode}.")
    return Measured(**json.loads(done.stdout.splitlines()[-1]))


def measure_ours(service: Service, collection: BeirCollection) -> Measured:
    started = time.perf_counter()
    service.take_in(collection)
    indexing = time.perf_counter() - started
    options = {"k": DEPTH, "max_per_document": 1, "token_budget": 1_000_000}
    with asking.running_server(service.key) as server:
        for text in list(collection.queries.values())[:5]:
            server.ask(f"{text} ", **options)
        run, seconds = {}, []
        for pk, text in collection.queries.items():
            took, answer = server.ask(text, **options)
            seconds.append(took)
            run[pk] = [hit["source_uri"] for hit in answer["results"]]
        megabytes = server.peak_megabytes() + _database_megabytes()
    return Measured(indexing, seconds, megabytes, _disk(), run)


def _database_megabytes() -> float:
    from django.db import connections

    with connections["owner"].cursor() as cursor:
        cursor.execute("SHOW data_directory")
        return postgres_megabytes(Path(cursor.fetchone()[0]))


def _disk() -> float:
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_database_size(current_database())")
        return float(cursor.fetchone()[0]) / 2**20


def one_set(name: str, collection: BeirCollection, vectors: Any, model: Path, python: Path) -> None:
    documents = {
        pk: text.strip() or pk for pk, text in zip(collection.ids, collection.texts, strict=True)
    }
    with tempfile.TemporaryDirectory(prefix="field-") as scratch:
        started = time.perf_counter()
        prepare(Path(scratch), documents, collection.queries, vectors, model)
        say(f"\n{name}: documents embedded in {time.perf_counter() - started:.0f} s (0: kept)")
        measured = {OURS: measure_ours(open_service(name), collection)}
        measured |= {peer: measure_peer(peer, Path(scratch), python) for peer in PEERS}
    scores = {system: judge(collection, each.run) for system, each in measured.items()}
    say(f"\n### {name}: {len(documents)} documents, {len(collection.queries)} queries\n")
    say("| | nDCG@10 | R@100 | ours − theirs | indexing s | query ms p50 / p95 | MB | disk MB |")
    say("|---|--:|--:|--:|--:|--:|--:|--:|")
    for system, each in measured.items():
        ndcg, recall = scores[system]["nDCG@10"], scores[system]["R@100"]
        gain = ""
        if system != OURS:
            low, high = interval(scores[OURS]["nDCG@10"], ndcg)
            mean = (scores[OURS]["nDCG@10"] - ndcg).mean()
            gain = f"{mean:+.3f} [{low:+.3f}, {high:+.3f}]"
        say(each.row(system, f" {ndcg.mean():.3f} | {recall.mean():.3f} | {gain} |"))
    say("\n" + ", ".join(each.version for each in measured.values() if each.version))


def at_scale(path: Path, rows: int, embedder: Any, model: Path, python: Path) -> None:
    """Measure only speed and memory, with means of the model's word vectors for all."""
    from documents.accounts import keys
    from evaluation.benchmarks.data.vectors import WordVectors
    from evaluation.benchmarks.search.query import open_corpus
    from ragsite.database.tenancy import operator

    vectors = WordVectors(embedder)
    with gzip.open(path, "rt") as lines:
        passages = [json.loads(line) for line in islice(lines, rows)]
    documents = {p["_id"]: f"{p.get('title', '')} {p['text']}".strip() for p in passages}
    asked = asking.natural_questions([p["text"] for p in passages], 100)
    questions = {str(n): text for n, text in enumerate(asked)}
    started = time.perf_counter()
    corpus = open_corpus(path, rows=rows, vectors=vectors)
    indexing = time.perf_counter() - started
    with operator():
        _, key = keys.issue(corpus.tenant, scopes=("read",), limits={"search": 0})
    with asking.running_server(key) as server:
        for text in asked[:5]:
            server.ask(f"{text} ", k=DEPTH)
        seconds = [server.ask(text, k=DEPTH)[0] for text in asked]
        megabytes = server.peak_megabytes() + _database_megabytes()
    measured = {OURS: Measured(indexing, seconds, megabytes, _disk(), {})}
    with tempfile.TemporaryDirectory(prefix="field-") as scratch:
        prepare(Path(scratch), documents, questions, vectors, model, own_questions=True)
        for peer in PEERS:
            measured[peer] = measure_peer(peer, Path(scratch), python)
    say(f"\n### {len(documents)} passages, {len(asked)} questions\n")
    say("| | indexing s | query ms p50 / p95 | MB | disk MB |")
    say("|---|--:|--:|--:|--:|")
    for system, each in measured.items():
        say(each.row(system))


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, help="Folder with the test collections.")
    parser.add_argument("--sets", nargs="*", default=["scifact", "cisi", "cacm"])
    parser.add_argument("--scale", type=Path, help="passages.jsonl.gz for the large run.")
    parser.add_argument("--rows", type=int, default=97_768)
    parser.add_argument("--python", type=Path, required=True, help="that has the peers installed")
    parser.add_argument("--home", type=Path, help="Keep the database here for the next run.")
    options = parser.parse_args(arguments)
    os.environ |= {
        "CACHE_RESULTS_SECONDS": "0",
        "RAGSITE_PG_FSYNC": "off",
        "EMBEDDING_THREADS": "1",
    }
    stage.set_up(options.home)
    from django.conf import settings

    from evaluation.benchmarks.data.vectors import KeptEmbedder

    say(stage.machine(PACKAGES))
    embedders: dict[str, Any] = settings.EMBEDDERS
    embedders["default"]["BACKEND"] = "evaluation.benchmarks.data.vectors.KeptEmbedder"
    kept = KeptEmbedder(threads=1)
    model = Path(kept.model.files.directory)
    if options.data:
        for name in options.sets:
            one_set(name, BeirCollection(options.data / name), kept.kept, model, options.python)
    if options.scale:
        at_scale(options.scale, options.rows, kept.model, model, options.python)


if __name__ == "__main__":
    main()
