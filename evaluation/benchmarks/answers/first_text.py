"""Measure how soon an answer starts over HTTP, relative to the model's own first token.

    make bench-answer [ANSWERS=30]

The model is the tests' chat server with a fixed delay: its first token takes FIRST seconds, each
other one EACH. Everything is measured in turns, question by question: the model alone, POST /query,
POST /answer with the model, POST /answer with the extractive writer.
"""

import argparse
import json
import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import httpx2

from evaluation.benchmarks.service import asking, stage
from evaluation.benchmarks.service.asking import both, middle

FIRST, EACH = 0.3, 0.02  # seconds
WORDS = 60
PACKAGES = ("Django", "pgvector", "sentence-transformers", "uvicorn", "httpx2")

Times = dict[str, float]  # seconds from the request to the first event of each name


def say(line: str = "") -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def metered(exchange: Any) -> None:
    """Cites the first document, a word at a time."""
    prompt = exchange.received.messages[-1]["content"]
    ident = prompt.partition("document id=")[2].partition(">")[0] or "none"
    sentence = f"The documents say so, as far as anybody can tell [cite:{ident}]. "
    words = (sentence * (WORDS // len(sentence.split()) + 1)).split(" ")[:WORDS]
    exchange.wait(FIRST)
    exchange.begin(exchange.tokens(sentence))
    for word in words:
        exchange.piece(f"{word} ")
        exchange.wait(EACH)
    exchange.end("stop", exchange.tokens(" ".join(words)))


def server_sent(lines: Iterator[str]) -> Iterator[tuple[str, str]]:
    """Yield (name, data) of each event, without comments."""
    name = ""
    for line in lines:
        if line.startswith("event:"):
            name = line.partition(":")[2].strip()
        elif line.startswith("data:"):
            yield name, line.partition(":")[2].strip()


def first_times(
    client: httpx2.Client, url: str, body: Mapping[str, Any], headers: Mapping[str, str]
) -> Times:
    started = time.perf_counter()
    times: Times = {}
    last = ""
    with client.stream("POST", url, json=body, headers=headers) as answer:
        if answer.status_code != 200:
            raise SystemExit(f"{answer.status_code}: {answer.read()[:500]!r}")
        for name, data in server_sent(answer.iter_lines()):
            if name or '"content"' in data:  # OpenAI's events have no name
                times.setdefault(name or "token", time.perf_counter() - started)
                last = name
    if last == "error":
        raise SystemExit("An answer ended with an error; see the service's log.")
    times["end"] = time.perf_counter() - started
    return times


def ratio(these: Sequence[Times], name: str, over: Sequence[Times], other: str) -> str:
    return f"{middle([t[name] for t in these]) / middle([t[other] for t in over]):.2f}"


def report(measured: Mapping[str, list[Times]]) -> None:
    alone, found = measured["model"], measured["query"]
    say("\n| | p50 / p95 ms | over the model's own first token | over POST /query |")
    say("|---|--:|--:|--:|")
    rows = [
        ("the model alone: first token", "model", "token"),
        ("POST /query", "query", "end"),
        ("POST /answer: sources", "answer", "sources"),
        ("POST /answer: first text", "answer", "delta"),
        ("POST /answer: the whole", "answer", "end"),
        ("extractive: sources", "extractive", "sources"),
        ("extractive: first text", "extractive", "delta"),
        ("extractive: the whole", "extractive", "end"),
    ]
    for label, key, name in rows:
        these = [times for times in measured[key] if name in times]
        if these:
            shown = both([times[name] for times in these])
            of_model, of_query = (
                ratio(these, name, alone, "token"),
                ratio(these, name, found, "end"),
            )
            say(f"| {label} | {shown} | {of_model} | {of_query} |")
    expected = middle([m["token"] + q["end"] for m, q in zip(alone, found, strict=True)])
    first = middle([times["delta"] for times in measured["answer"]])
    say(f"\nFirst text over search and the model's first token together: {first / expected:.2f}")
    say(f"The whole over the model's whole: {ratio(measured['answer'], 'end', alone, 'end')}")


def questions_of(namespace_slug: str, number: int) -> list[str]:
    from django.core.management import call_command

    from documents.models import Namespace
    from evaluation.models import GoldenQuery
    from ragsite.database.tenancy import namespace, operator

    call_command("load_starter_set", "--namespace", namespace_slug, verbosity=0)
    with operator():
        tenant = Namespace.objects.get(slug=namespace_slug)
    with namespace(tenant.pk):
        return list(GoldenQuery.objects.values_list("text", flat=True)[:number])


def measure(
    server: asking.Server, model_url: str, questions: Sequence[str]
) -> dict[str, list[Times]]:
    key = {"Authorization": f"Bearer {server.key}"}
    url = f"{server.url}/api/v1/answer"
    measured: dict[str, list[Times]] = {"model": [], "query": [], "answer": [], "extractive": []}
    for number, question in enumerate(["Warm up, please?", *questions]):
        body = {"query": question, "stream": True}
        prompt = {
            "model": "m",
            "stream": True,
            "messages": [{"role": "user", "content": question}],
        }
        turn = {
            "model": first_times(server.client, f"{model_url}/chat/completions", prompt, {}),
            "query": {"end": server.ask(question)[0]},
            "answer": first_times(server.client, url, {**body, "model": "openai"}, key),
            "extractive": first_times(server.client, url, {**body, "model": "extractive"}, key),
        }
        for name, times in turn.items() if number else ():
            measured[name].append(times)
    return measured


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--answers", type=int, default=30)
    options = parser.parse_args(arguments)
    from tests import chat_server

    with chat_server.provider() as site:
        site.behave("metered", metered)
        os.environ |= {
            "CACHE_RESULTS_SECONDS": "0",
            "CACHE_QUERIES_SECONDS": "0",
            "RAGSITE_PG_FSYNC": "off",
            "LLM_OPENAI_URL": site.url("metered"),
            "LLM_OPENAI_MODEL": "m",
            "ANSWER_MIN_RELEVANCE": "0",
        }
        stage.set_up()
        say(stage.machine(PACKAGES))
        from documents.accounts import keys
        from ragsite.database.tenancy import operator

        tenant = stage.new_namespace("default")
        questions = questions_of(tenant.slug, options.answers)
        with operator():
            type(tenant).objects.filter(pk=tenant.pk).update(answer_min_relevance=0.0)
            _, key = keys.issue(tenant, scopes=("read",))
        with asking.running_server(key) as server:
            measured = measure(server, site.url("metered"), questions)
    say(json.dumps({"questions": len(questions), "first": FIRST, "each": EACH, "words": WORDS}))
    report(measured)


if __name__ == "__main__":
    main()
