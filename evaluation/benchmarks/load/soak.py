"""The service under steady use for half an hour: is anything growing that should not?

    make soak [MINUTES=30] [ARGS="--chunks 5000"]

Questions, uploads, replacements and deletions, 90 to 5 to 3 to 2 of a hundred, so that the amount
of data stays the same. Every half minute memory, handles, connections, tables and indexes are
looked at. The last quarter is compared with the second one: the first is for warming up.
"""

import argparse
import json
import os
import random
import threading
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from evaluation.benchmarks.load.clients import Client
from evaluation.benchmarks.load.processes import ProcessTree, postgres_tree
from evaluation.benchmarks.load.tenants import Tenant, load_tenants
from evaluation.benchmarks.service import asking, stage
from evaluation.benchmarks.service.asking import middle
from evaluation.benchmarks.service.client import say

CLIENTS = 2
PAUSE = 0.05  # seconds between two requests of a client
DOCUMENTS = 60  # number of documents of each client that are replaced and deleted
SAMPLE_SECONDS = 30.0
# Permitted growth of a figure from the second quarter to the last: a factor, and an amount that is
# ignored.
ALLOWED = {
    "web MB": (1.05, 10),
    "worker MB": (1.1, 20),
    "Postgres MB": (1.15, 50),
    "web handles": (1.1, 10),
    "connections": (1.1, 3),
    "idle in transaction": (1.0, 0),
    "tables MB": (1.15, 10),
    "indexes MB": (1.15, 10),
    "p95 ms": (1.5, 50),
}

_DATABASE = """
    SELECT (SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()),
           (SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()
            AND state = 'idle in transaction' AND now() - state_change > interval '5 seconds'),
           (SELECT sum(pg_table_size(relid)) / 1048576 FROM pg_stat_user_tables
            WHERE relname NOT IN ('retrieval_querylog')),
           (SELECT sum(pg_indexes_size(relid)) / 1048576 FROM pg_stat_user_tables
            WHERE relname NOT IN ('retrieval_querylog'))
"""


@dataclass
class Traffic:
    """The requests of a client, and their outcomes."""

    url: str
    tenant: Tenant
    number: int
    times: list[tuple[float, float]] = field(default_factory=list)  # time of the request, seconds
    statuses: Counter[int] = field(default_factory=Counter)
    documents: list[str] = field(default_factory=list)

    def run(self, is_over: threading.Event) -> None:
        client, chance = Client(self.url, self.tenant.key), random.Random(self.number)  # noqa: S311
        while not is_over.is_set():
            luck = chance.random()
            if luck < 0.9:
                self._ask(client, chance.choice(self.tenant.questions))
            elif luck < 0.95 or not self.documents:
                self._upload(client, f"soak-{self.number}-{chance.randrange(DOCUMENTS)}")
            elif luck < 0.98:
                self._upload(client, chance.choice(self.documents))
            else:
                self._delete(client, chance.choice(self.documents))
            time.sleep(PAUSE)

    def _ask(self, client: Client, question: str) -> None:
        outcome = client.ask({"query": question, "k": 10})
        self.times.append((outcome.started, outcome.seconds))
        self.statuses[outcome.status] += 1

    def _upload(self, client: Client, name: str) -> None:
        text = f"# {name}\n\n" + " ".join(self.tenant.questions[:20]) + f"\n\n{time.time_ns()}"
        document = {"content": text, "source_uri": name, "media_type": "text/markdown"}
        outcome = client.post("/api/v1/ingest", json.dumps({"documents": [document]}).encode())
        self.statuses[outcome.status] += 1
        if name not in self.documents:
            self.documents.append(name)

    def _delete(self, client: Client, name: str) -> None:
        listed = client.get(f"/api/v1/documents?source_uri={name}").answer()["results"]
        for document in listed:
            self.statuses[client.delete(f"/api/v1/documents/{document['id']}").status] += 1
        self.documents.remove(name)


def sample(trees: dict[str, ProcessTree]) -> dict[str, float]:
    from evaluation.benchmarks.data.corpus import owner_rows

    ((connections, idle, tables, indexes),) = owner_rows(_DATABASE)
    return {
        **{f"{name} MB": tree.megabytes() for name, tree in trees.items()},
        "web handles": float(trees["web"].handles()),
        "connections": float(connections),
        "idle in transaction": float(idle),
        "tables MB": float(tables),
        "indexes MB": float(indexes),
    }


def watch(
    traffic: Sequence[Traffic], trees: dict[str, ProcessTree], *, minutes: float
) -> list[dict[str, float]]:
    over, samples, begun = threading.Event(), [], time.perf_counter()
    threads = [threading.Thread(target=each.run, args=(over,)) for each in traffic]
    for thread in threads:
        thread.start()
    step = min(SAMPLE_SECONDS, minutes * 60 / 16)
    while time.perf_counter() - begun < minutes * 60:
        start = time.perf_counter()
        time.sleep(step)
        times = [s for each in traffic for at, s in list(each.times) if at >= start]
        samples.append({**sample(trees), "p95 ms": middle(times, 95) if times else 0.0})
    over.set()
    for thread in threads:
        thread.join()
    return samples


def judge(samples: Sequence[dict[str, float]]) -> list[str]:
    """Compare the last quarter with the second."""
    quarter = len(samples) // 4
    early, late = samples[quarter : 2 * quarter], samples[-quarter:]
    failed = []
    say("\n| | second quarter | last quarter | allowed |")
    say("|---|--:|--:|--:|")
    for name, (factor, amount) in ALLOWED.items():
        before, after = (float(np.median([each[name] for each in some])) for some in (early, late))
        limit = max(before * factor, before + amount)
        say(f"| {name} | {before:.1f} | {after:.1f} | {limit:.1f} |")
        if after > limit:
            failed.append(f"{name} grew from {before:.1f} to {after:.1f}")
    return failed


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--chunks", type=int, default=5000)
    parser.add_argument("--home", type=Path, help="Keep the database here for the next run.")
    options = parser.parse_args()
    os.environ |= {"CACHE_RESULTS_SECONDS": "0"}
    stage.set_up(options.home, settings="evaluation.benchmarks.service.word_vectors")
    say(stage.machine(("Django", "pgvector", "uvicorn")))
    tenants = load_tenants(options.chunks, CLIENTS)
    with asking.running_server(tenants[0].key) as server, asking.running_worker() as worker:
        traffic = [Traffic(server.url, tenant, n) for n, tenant in enumerate(tenants)]
        trees: dict[str, Any] = {
            "web": ProcessTree(server.process),
            "worker": ProcessTree(worker),
            "Postgres": postgres_tree(),
        }
        samples = watch(traffic, trees, minutes=options.minutes)
    statuses = sum((each.statuses for each in traffic), Counter[int]())
    say(f"{options.minutes:g} minutes; responses by status: {dict(sorted(statuses.items()))}")
    failed = judge(samples)
    errors = sum(count for status, count in statuses.items() if status == 0 or status >= 500)
    if errors:
        failed.append(f"{errors} requests failed")
    if failed:
        raise SystemExit("\nNot flat: " + "; ".join(failed))


if __name__ == "__main__":
    main()
