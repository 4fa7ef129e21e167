"""Measure the effect of query expansion by a small model: none, multi-query, step-back, HyDE.

    make bench-expansion DATA=FOLDER [ARGS="--questions 30"]   (xquad/xquad.en.json, beir/cisi)

The model is SmolLM2-135M on this machine. A document has the rank of its first passage. The
figures hold for this model; a more capable one may help.
"""

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from evaluation.benchmarks.data.beir import BeirCollection
from evaluation.benchmarks.service.client import Service, open_service, say
from evaluation.benchmarks.service.uploads import arguments_for, set_up
from evaluation.golden.formats import Article
from evaluation.measures import metrics

KINDS = ("none", "multi-query", "step-back", "hyde")
MEASURES = ("ndcg@10", "recall@10", "hit@1")
K = 10
SECONDS = 120.0  # for one expansion


@dataclass
class Paragraphs:
    """Paragraphs and questions, with the interface of `BeirCollection`."""

    articles: list[Article]
    queries: dict[str, str]
    relevant: dict[str, dict[str, int]]


def xquad(path: Path) -> Paragraphs:
    articles: list[Article] = []
    queries, relevant = {}, {}
    for document in json.loads(path.read_text())["data"]:
        for paragraph in document["paragraphs"]:
            name = f"p{len(articles)}"
            articles.append(Article(name, document.get("title", ""), paragraph["context"]))
            for question in paragraph["qas"]:
                queries[question["id"]] = question["question"]
                relevant[question["id"]] = {name: 1}
    return Paragraphs(articles, queries, relevant)


def sample(queries: Mapping[str, str], number: int) -> dict[str, str]:
    """Choose questions spread over the whole set, always the same."""
    names = list(queries)
    step = max(1, len(names) // number)
    return {name: queries[name] for name in names[::step][:number]}


def ranking(service: Service, question: str, kind: str, model: Any) -> tuple[list[str], bool]:
    """Return source addresses, best first, and whether the model's reply was usable."""
    from retrieval.answering.question.expansion import fuse_results, other_questions
    from retrieval.requests import Mode, SearchRequest
    from retrieval.search import search

    plain = SearchRequest(question, k=K, max_per_document=1, token_budget=1_000_000)
    results = [search(service.namespace_id, plain)]
    others: Sequence[str] = ()
    if kind != "none":
        deadline = time.monotonic() + SECONDS
        others = other_questions(question, kind, model, deadline=deadline)
    mode: Mode = "semantic" if kind == "hyde" else "hybrid"
    for other in others:
        results.append(search(service.namespace_id, replace(plain, query=other, mode=mode)))
    hits = fuse_results(results, limit=K)
    return list(dict.fromkeys(hit.source_uri for hit in hits)), bool(others)


def compare(service: Service, collection: Any, queries: Mapping[str, str], model: Any) -> None:
    scores: dict[str, list[Mapping[str, float]]] = {}
    say(f"\n| | {' | '.join(MEASURES)} | Δ ndcg@10 (95 %) | usable | s a question |")
    say("|---|" + "--:|" * (len(MEASURES) + 3))
    for kind in KINDS:
        started, usable = time.monotonic(), 0
        scores[kind] = []
        for name, text in queries.items():
            found, is_usable = ranking(service, text, kind, model)
            usable += is_usable
            run = {source: float(K - place) for place, source in enumerate(found)}
            measured = metrics.measure({"q": collection.relevant[name]}, {"q": run}, MEASURES)
            scores[kind].append(measured["q"])
        seconds = (time.monotonic() - started) / len(queries)
        say(_row(kind, scores, usable / len(queries), seconds))


def _row(
    kind: str, scores: Mapping[str, list[Mapping[str, float]]], usable: float, seconds: float
) -> str:
    means = [sum(s[name] for s in scores[kind]) / len(scores[kind]) for name in MEASURES]
    gained = metrics.difference(
        *([score[MEASURES[0]] for score in scores[which]] for which in ("none", kind))
    )
    cells = " | ".join(f"{mean:.3f}" for mean in means)
    share = "" if kind == "none" else f"{usable:.0%}"
    change = f"{gained.gain:+.3f} ({gained.low:+.3f} … {gained.high:+.3f})"
    return f"| {kind} | {cells} | {change} | {share} | {seconds:.1f} |"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = arguments_for((__doc__ or "").splitlines()[0])
    parser.add_argument("--questions", type=int, default=50, help="of each set")
    parser.add_argument("--sets", nargs="+", default=["XQuAD-en", "CISI"])
    options = parser.parse_args(arguments)
    from tests import small_model_server

    set_up(options.home)
    from documents.language_models.openai import OpenAIModel

    sets: dict[str, Any] = {
        "XQuAD-en": xquad(options.data / "xquad" / "xquad.en.json"),
        "CISI": BeirCollection(options.data / "beir" / "cisi"),
    }
    with small_model_server.running() as url:
        model = OpenAIModel(
            url, model="smollm2-135m-instruct", context_tokens=small_model_server.CONTEXT_TOKENS
        )
        for name in options.sets:
            collection = sets[name]
            service = open_service(f"expansion-{name.lower()}")
            service.take_in(collection)
            queries = sample(collection.queries, options.questions)
            say(f"\n### {name}: {len(queries)} questions, {len(collection.articles)} documents")
            compare(service, collection, queries, model)


if __name__ == "__main__":
    main()
