"""Measure nDCG@10 of the fused order with and without a cross-encoder, and its cost.

    python -m evaluation.benchmarks.search.rerank --data BEIR/scifact --model DIRECTORY

The first stage is bm25s plus all-MiniLM-L6-v2, min-max normalised and summed, by whole documents.
"""

import argparse
import math
import random
import time
from pathlib import Path
from typing import Any

import bm25s
import numpy as np
import Stemmer

from documents.embedders.sentence_transformers import SentenceTransformersEmbedder
from evaluation.benchmarks.data.beir import BeirCollection
from retrieval.rerankers.base import RerankPassage
from retrieval.rerankers.onnx import OnnxReranker

WEIGHTS = (0.0, 0.3, 0.5, 0.7, 1.0)  # weights of the cross-encoder against the fused score


def vectors(collection: BeirCollection, saved: Path) -> tuple[dict[str, Any], np.ndarray]:
    """Return query vectors by id and the documents' matrix, stored in `saved` as they take
    minutes."""
    if not saved.exists():
        embedder = SentenceTransformersEmbedder(threads=1)
        documents = [v for batch in embedder.embed_documents(collection.texts) for v in batch]
        questions = [embedder.embed_query(text) for text in collection.queries.values()]
        np.savez(saved, D=documents, Q=questions, did=collection.ids, qid=list(collection.queries))
    kept = np.load(saved, allow_pickle=False)
    place = {str(name): row for row, name in enumerate(kept["did"])}
    matrix = kept["D"][[place[name] for name in collection.ids]]
    return dict(zip(map(str, kept["qid"]), kept["Q"], strict=True)), matrix


def normalised(scores: np.ndarray) -> np.ndarray:
    low, high = scores.min(), scores.max()
    return (scores - low) / (high - low) if high > low else np.zeros_like(scores)


def ndcg(ranked: list[str], relevant: dict[str, int], k: int = 10) -> float:
    gained = sum(relevant.get(d, 0) / math.log2(n + 2) for n, d in enumerate(ranked[:k]))
    best = sorted(relevant.values(), reverse=True)[:k]
    return gained / sum(grade / math.log2(n + 2) for n, grade in enumerate(best))


def first_stage(collection: BeirCollection, saved: Path, depth: int = 50) -> dict[str, Any]:
    """Return for each query the union of both legs' best with their fused scores, best first."""
    stemmer = Stemmer.Stemmer("english")
    index = bm25s.BM25(k1=0.9, b=0.4)
    tokens = bm25s.tokenize(collection.texts, stemmer=stemmer, show_progress=False)
    index.index(tokens, show_progress=False)
    questions, matrix = vectors(collection, saved)
    fused = {}
    for query, text in collection.queries.items():
        (tokens,) = bm25s.tokenize(text, stemmer=stemmer, show_progress=False, return_ids=False)
        lexical = index.get_scores(tokens)
        near = matrix @ questions[query]
        union = np.union1d(np.argsort(-lexical)[:depth], np.argsort(-near)[:depth])
        scores = normalised(lexical[union]) + normalised(near[union])
        order = np.argsort(-scores, kind="stable")
        fused[query] = union[order], scores[order] / 2
    return fused


def measure(
    collection: BeirCollection, fused: Any, model: OnnxReranker, top: int, limit: int
) -> None:
    chosen = sorted(collection.queries)
    random.Random(13).shuffle(chosen)  # noqa: S311  (the same sample every time)
    sums = dict.fromkeys(map(str, WEIGHTS), 0.0)
    seconds = passages = 0.0
    for done, query in enumerate(chosen[:limit], start=1):
        rows, scores = fused[query]
        head = [RerankPassage(collection.texts[row]) for row in rows[:top]]
        started = time.process_time()
        given = model.rerank(collection.queries[query], head, deadline=time.monotonic() + 3600)
        seconds += time.process_time() - started
        passages += len(head)
        for weight in WEIGHTS:
            blend = weight * normalised(np.log(given)) + (1 - weight) * normalised(scores[:top])
            order = np.argsort(-blend, kind="stable")
            ranked = [collection.ids[row] for row in rows[:top][order]]
            sums[str(weight)] += ndcg(ranked, collection.relevant[query])
        if done % 10 == 0 or done == len(chosen[:limit]):
            figures = {f"w={weight}": round(total / done, 4) for weight, total in sums.items()}
            per = round(1000 * seconds / passages, 1)
            print({"queries": done, **figures, "cpu_ms_per_passage": per}, flush=True)  # noqa: T201


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("--vectors", type=Path, help="an .npz to read or write; default in --data")
    parser.add_argument("--queries", type=int, default=10_000)
    parser.add_argument("--top", type=int, default=30)
    parser.add_argument("--max-length", type=int, default=256)
    options = parser.parse_args()
    test = BeirCollection(options.data)
    saved = options.vectors or options.data.with_suffix(".minilm.npz")
    measure(
        test,
        first_stage(test, saved),
        OnnxReranker(options.model, max_length=options.max_length),
        options.top,
        options.queries,
    )
