"""Many clients and many tenants: latency by number of clients, recall by size of namespace, memory
of each process, and what a noisy tenant and a thousand uploads do to others.

    make load [CHUNKS=100000] [ARGS="--namespaces 20 --uploads 1000"]

Texts are synthetic and vectors are means of word vectors, so that loading takes minutes; the rest
is the service as `make run` starts it. Clients share the machine with it.
"""

import argparse
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from evaluation.benchmarks.load import fairness
from evaluation.benchmarks.load.clients import Client, TimedReply, ask_each
from evaluation.benchmarks.load.processes import ProcessTree, postgres_tree
from evaluation.benchmarks.load.tenants import CLASSES, Tenant, load_tenants
from evaluation.benchmarks.service import asking, stage
from evaluation.benchmarks.service.asking import middle
from evaluation.benchmarks.service.client import say

CLIENTS = (1, 4, 16)
TOP = 10
PACKAGES = ("Django", "pgvector", "uvicorn")
MIN_RECALL = 0.95
MAX_NOISE = 1.25  # factor on another tenant's p95
MAX_UPLOAD_SECONDS = 30.0


def questions_of(
    tenants: Sequence[Tenant], number: int, *, start: int = 0
) -> list[tuple[int, str]]:
    """Return tenants' indexes with a question each. Every size class is asked equally often."""
    by_class = [
        [place for place, tenant in enumerate(tenants) if tenant.size_class == name]
        for name in CLASSES
    ]
    by_class = [places for places in by_class if places]
    asked = []
    for n in range(start, start + number):
        places = by_class[n % len(by_class)]
        place = places[n // len(by_class) % len(places)]
        questions = tenants[place].questions
        asked.append((place, questions[n % len(questions)]))
    return asked


def many_clients(url: str, tenants: Sequence[Tenant], *, requests: int) -> list[str]:
    say(f"\n### {requests} questions with each number of clients, k=10, nothing cached\n")
    say("| clients | answers/s | p50 / p95 / p99 ms | large | middle | small | errors |")
    say("|--:|--:|--:|--:|--:|--:|--:|")
    failed = []
    for turn, clients in enumerate(CLIENTS):
        asked = questions_of(tenants, requests, start=turn * requests)
        bodies = [(tenants[place].key, {"query": text, "k": TOP}) for place, text in asked]
        seconds, outcomes = ask_each(url, bodies, clients=clients)
        classes_asked = [tenants[place].size_class for place, _ in asked]
        by_class = [
            [o for own, o in zip(classes_asked, outcomes, strict=True) if own == name]
            for name in CLASSES
        ]
        errors = sum(outcome.status != 200 for outcome in outcomes)
        if errors:
            failed.append(f"{errors} of {requests} questions failed with {clients} clients")
        classes = " | ".join(_p50_p95(some) for some in by_class)
        times = [outcome.seconds for outcome in outcomes]
        say(
            f"| {clients} | {requests / seconds:.1f} | {_p50_p95(outcomes)} / "
            f"{middle(times, 99):.1f} | {classes} | {errors} |"
        )
    return failed


def _p50_p95(outcomes: Sequence[TimedReply]) -> str:
    return asking.both([outcome.seconds for outcome in outcomes]) if outcomes else "–"


def recall(tenants: Sequence[Tenant], *, questions: int) -> list[str]:
    """Compare the vector leg's first ten with numpy in single precision, by size class."""
    say("\n### The vector leg's recall@10 against exact, by share of all chunks\n")
    say("| | namespaces | chunks | recall@10 | worst namespace | plans |")
    say("|---|--:|--:|--:|--:|---|")
    failed = []
    for name, least in CLASSES.items():
        some = [tenant for tenant in tenants if tenant.size_class == name]
        if not some:
            continue
        measured = [_recall(tenant, questions) for tenant in some]
        mean = float(np.mean([value for value, _ in measured]))
        plans = sorted({plan for _, plans in measured for plan in plans})
        sizes = [tenant.chunks for tenant in some]
        say(
            f"| {name} (from {least:.0%}) | {len(some)} | {min(sizes)}–{max(sizes)} | {mean:.3f} "
            f"| {min(value for value, _ in measured):.3f} | {', '.join(plans)} |"
        )
        if mean < MIN_RECALL:
            failed.append(f"recall of {name} namespaces is {mean:.3f}")
    return failed


def _recall(tenant: Tenant, questions: int) -> tuple[float, set[str]]:
    bench, found, plans = tenant.bench, [], set()
    for text in tenant.questions[:questions]:
        vector = bench.vector_of(text)
        exact = bench.nearest(vector)
        with bench.inside():
            near, plan = bench.near(vector, bench.scope())
        plans.add(plan)
        found.append(len(exact & bench.rows_of(near)) / len(exact))
    return float(np.mean(found)), plans


def memory(trees: dict[str, ProcessTree]) -> None:
    say("\n### Memory, with pages that processes share counted once\n")
    say("| | processes | MB |")
    say("|---|--:|--:|")
    for name, tree in trees.items():
        say(f"| {name} | {len(tree.pids())} | {tree.megabytes():.0f} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--chunks", type=int, default=100_000)
    parser.add_argument("--namespaces", type=int, default=20)
    parser.add_argument("--requests", type=int, default=300, help="For each number of clients.")
    parser.add_argument("--recall-questions", type=int, default=20, help="Of each namespace.")
    parser.add_argument("--windows", type=int, default=6, help="Quiet and noisy, in turns.")
    parser.add_argument("--window-seconds", type=float, default=10)
    parser.add_argument("--uploads", type=int, default=1000)
    parser.add_argument("--home", type=Path, help="Keep the database here for the next run.")
    options = parser.parse_args()
    if failed := run(options):
        raise SystemExit("\nNot reached: " + "; ".join(failed))


def run(options: argparse.Namespace) -> list[str]:
    os.environ |= {"CACHE_RESULTS_SECONDS": "0", "CACHE_QUERIES_SECONDS": "0"}
    stage.set_up(options.home, settings="evaluation.benchmarks.service.word_vectors")
    say(stage.machine(PACKAGES))
    tenants = load_tenants(options.chunks, options.namespaces)
    sizes = ", ".join(str(tenant.chunks) for tenant in tenants)
    say(f"{len(tenants)} namespaces with {sizes} chunks")
    failed = recall(tenants, questions=options.recall_questions)
    with asking.running_server(tenants[0].key) as server, asking.running_worker() as worker:
        warm(server.url, tenants)
        failed += many_clients(server.url, tenants, requests=options.requests)
        memory(
            {
                "web": ProcessTree(server.process),
                "worker": ProcessTree(worker),
                "Postgres": postgres_tree(),
            }
        )
        noise = fairness.noise(
            server.url, tenants, windows=options.windows, seconds=options.window_seconds
        )
        if noise > MAX_NOISE:
            failed.append(f"a noisy tenant moved another's p95 by {noise - 1:.0%}")
        waited = fairness.upload_behind(server.url, tenants, uploads=options.uploads)
        if waited > MAX_UPLOAD_SECONDS:
            failed.append(f"one upload behind {options.uploads} others took {waited:.0f} s")
    return failed


def warm(url: str, tenants: Sequence[Tenant]) -> None:
    for tenant in tenants:
        Client(url, tenant.key).ask({"query": tenant.questions[0], "k": TOP})


if __name__ == "__main__":
    main()
