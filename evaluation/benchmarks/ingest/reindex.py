"""Build a profile with another dimension next to the live one while clients keep querying.

    make bench-reindex [CHUNKS=20000] [FROM=hashing] [EMBEDDER=other]

Counts empty responses and responses that mix profiles, measures query speed before and during the
build, and checks that the chunks are the same when the builder is killed repeatedly. FROM=default
EMBEDDER=bge uses two real models.
"""

import argparse
import hashlib
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from evaluation.benchmarks.data import samples
from evaluation.benchmarks.service import asking, stage
from evaluation.benchmarks.service.asking import middle

SETTINGS = "evaluation.benchmarks.service.two_models"
CLIENTS = 4
KILLS = 5
TURN = 8.0  # seconds of building, then of pausing it; less than a lease
CHARACTERS = 9000  # of a document
PACKAGES = ("Django", "pgvector", "uvicorn")


def say(line: str = "") -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


@dataclass
class Load:
    """Clients that query until stopped, and record every response."""

    server: asking.Server
    questions: list[str]
    phase: str = "warm-up"
    seconds: dict[str, list[float]] = field(default_factory=dict)
    seen: list[tuple[str, list[str]]] = field(default_factory=list)  # profile, chunk ids
    errors: list[str] = field(default_factory=list)
    _stop: threading.Event = field(default_factory=threading.Event)

    @contextmanager
    def going(self) -> Iterator[None]:
        threads = [threading.Thread(target=self._ask, args=(n,)) for n in range(CLIENTS)]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            self._stop.set()
            for thread in threads:
                thread.join()

    def _ask(self, client: int) -> None:
        turn = client
        while not self._stop.is_set():
            # Always different, so that no result comes from a cache.
            question = f"{self.questions[turn % len(self.questions)]} {turn}"
            turn += CLIENTS
            phase = self.phase
            try:
                seconds, answer = self.server.ask(question)
            except SystemExit as error:
                self.errors.append(str(error))
                continue
            self.seconds.setdefault(phase, []).append(seconds)
            chunks = [hit["chunk_id"] for hit in answer["results"]]
            self.seen.append((answer["diagnostics"]["profile"], chunks))

    def figures(self, phase: str) -> str:
        times = self.seconds.get(phase, [])
        if not times:
            return f"| {phase} | 0 | | |"
        return f"| {phase} | {len(times)} | {middle(times):.0f} | {middle(times, 95):.0f} |"


def fill(tenant: Any, chunks: int) -> list[str]:
    """Ingest documents until there are this many chunks; return their texts."""
    from django.core.files.base import ContentFile

    from documents.intake import intake
    from documents.models import Namespace
    from ragsite.database.tenancy import namespace

    texts: list[str] = []
    have = 0
    while have < chunks:
        for number in range(len(texts), len(texts) + 50):
            text = samples.markdown(number, characters=CHARACTERS)
            name = f"report-{number}.md"
            file = ContentFile(text.encode(), name=name)
            intake.accept(tenant.pk, intake.Submission(content=file, file_name=name))
            texts.append(text)
        stage.work()
        with namespace(tenant.pk):
            have = Namespace.objects.get(pk=tenant.pk).chunk_count
    return texts


def work_forever() -> None:
    """Build like a worker process, without the queue, until killed."""
    import django

    django.setup()  # the environment is the benchmark's own
    from documents.jobs import heartbeat
    from documents.reindex import build as building

    while True:
        if claim := building.claim(heartbeat.group()):
            building.build(claim)
        else:
            time.sleep(0.1)


def start_worker() -> "subprocess.Popen[bytes]":
    argv = [sys.executable, "-m", "evaluation.benchmarks.ingest.reindex", "--worker"]
    return subprocess.Popen(argv, start_new_session=True)  # noqa: S603


def kill(worker: "subprocess.Popen[bytes]") -> None:
    """Release the work of a dead builder, as the supervisor does."""
    from documents.jobs import heartbeat
    from documents.reindex import build as building

    os.killpg(worker.pid, signal.SIGKILL)
    worker.wait()
    building.requeue_stalled([heartbeat.group(worker.pid)])


def state(tenant: Any) -> tuple[str, Any]:
    from documents.reindex import switching
    from ragsite.database.tenancy import namespace

    with namespace(tenant.pk):
        reindex = switching.current(tenant.pk)
        assert reindex is not None  # noqa: S101
        return reindex.state, switching.progress(reindex)


def build(tenant: Any, profile: Any, *, kills: int = 0, load: Load | None = None) -> float:
    """Build until done, killing the builder at random numbers of documents. With clients it is
    paused half of the time, so that other load affects both sides equally."""
    from documents.reindex import switching

    chance = random.Random(7)  # noqa: S311
    started = time.monotonic()
    switching.start(tenant.pk, profile)
    documents = state(tenant)[1].documents
    points = sorted(chance.uniform(0.02, 0.98) * documents for _ in range(kills))
    worker = start_worker()
    try:
        while (now := state(tenant))[0] == "building":
            if points and now[1].done >= points[0]:
                kill(worker)
                points.pop(0)
                say(f"killed -9 after {time.monotonic() - started:.0f} s, {now[1].done} documents")
                worker = start_worker()
            if load is not None:
                take_turns(worker, load, time.monotonic() - started)
            time.sleep(0.1)
        return time.monotonic() - started
    finally:
        kill(worker)


def take_turns(worker: "subprocess.Popen[bytes]", load: Load, elapsed: float) -> None:
    phase = "held up" if int(elapsed / TURN) % 2 else "during"
    if phase != load.phase:
        os.killpg(worker.pid, signal.SIGSTOP if phase == "held up" else signal.SIGCONT)
        load.phase = phase


def fingerprint(tenant: Any, profile: Any) -> tuple[int, str]:
    """Return the number of chunks, and the hash of their texts and vectors in order."""
    from documents.models import Chunk
    from ragsite.database.tenancy import namespace

    digest, number = hashlib.sha256(), 0
    with namespace(tenant.pk):
        rows = Chunk.objects.filter(profile=profile).order_by("document__source_uri", "ordinal")
        fields = ("document__source_uri", "ordinal", "content", "embedding")
        for row in rows.values_list(*fields).iterator(2000):
            digest.update(repr(row).encode())
            number += 1
    return number, digest.hexdigest()


def disk() -> dict[str, float]:
    """Return the megabytes of the tables of chunks."""
    from evaluation.benchmarks.data.corpus import owner_rows

    rows = owner_rows(
        "SELECT relname, pg_total_relation_size(oid) / 1e6 FROM pg_class "
        "WHERE relname IN ('documents_chunk', 'documents_chunkterms', 'documents_embeddingcache')"
    )
    return {name.removeprefix("documents_"): float(size) for name, size in rows}


def forget_vectors() -> None:
    """Empty the cache, so that the second build has to embed again."""
    from evaluation.benchmarks.data.corpus import owner_rows

    owner_rows("DELETE FROM documents_embeddingcache RETURNING 1")


def switch_and_roll_back(tenant: Any, load: Load) -> None:
    from documents.reindex import switching

    times = []
    for act in (switching.switch, switching.roll_back, switching.switch):
        started = time.perf_counter()
        act(tenant.pk)
        times.append(time.perf_counter() - started)
        time.sleep(3)
    say(f"switch, rollback, switch: {', '.join(f'{t * 1000:.0f} ms' for t in times)}")


def judge(load: Load) -> tuple[int, int]:
    """Count empty responses, and responses with chunks of another profile than the one they
    name."""
    from documents.models import Chunk
    from ragsite.database.tenancy import operator

    with operator():
        owners = dict(Chunk.objects.values_list("pk", "profile__name"))
    names = {str(pk): name for pk, name in owners.items()}
    empty = sum(not chunks for _, chunks in load.seen)
    mixed = sum({names.get(c) for c in chunks} != {own} for own, chunks in load.seen if chunks)
    return empty, mixed


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--chunks", type=int, default=20_000)
    parser.add_argument("--embedder", default="other", help="Of the new profile.")
    parser.add_argument("--from", dest="old", choices=["hashing", "default"], default="hashing")
    parser.add_argument("--before", type=float, default=60, help="Seconds of queries beforehand.")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        work_forever()
    os.environ |= {"RAGSITE_PG_FSYNC": "off"}
    stage.set_up(settings=SETTINGS)
    say(stage.machine(PACKAGES))
    return run(options)


def run(options: argparse.Namespace) -> int:
    from documents.accounts import keys
    from documents.profiles import profiles
    from documents.reindex import switching
    from ragsite.database.tenancy import operator

    tenant = stage.new_namespace(options.old)
    started = time.monotonic()
    texts = fill(tenant, options.chunks)
    with operator():
        tenant.refresh_from_db()
        _, key = keys.issue(tenant, scopes=("read",), limits={"search": 0})
    say(
        f"{len(texts)} documents, {tenant.chunk_count} chunks ingested in "
        f"{time.monotonic() - started:.0f} s"
    )
    new = profiles.create("new", embedder=options.embedder)
    say(f"{tenant.active_profile.dimensions} dimensions → {new.dimensions} ({new.ann_method})")
    sizes = {"before": disk()}
    with asking.running_server(key) as server:
        load = Load(server, asking.natural_questions(texts, 400))
        with load.going():
            measured(tenant, new, load, options.before)
            sizes["both profiles"] = disk()
            undisturbed = fingerprint(tenant, new)
            switch_and_roll_back(tenant, load)
            switching.roll_back(tenant.pk)
            time.sleep(3)
    empty, mixed = judge(load)
    switching.cancel(tenant.pk)
    switching.sweep(tenant.pk)
    forget_vectors()
    again = build(tenant, new, kills=KILLS)
    resumed = fingerprint(tenant, new)
    say(f"built again in {again:.0f} s with {KILLS} kills: {resumed[0]} chunks")
    switching.switch(tenant.pk)
    time.sleep(reclaim_after())
    switching.reclaim(tenant.pk)
    switching.sweep(tenant.pk)
    vacuum()
    sizes["reclaimed, vacuumed"] = disk()
    return report(load, sizes, empty=empty, mixed=mixed, is_same=undisturbed == resumed)


def measured(tenant: Any, new: Any, load: Load, before: float) -> None:
    """Report the speed of queries before and during the build."""
    time.sleep(5)
    load.phase = "before"
    time.sleep(before)
    load.phase = "during"
    took = build(tenant, new, load=load)
    load.phase = "after"
    say(f"built in {took:.0f} s with {CLIENTS} clients, paused half of that time")


def reclaim_after() -> float:
    from django.conf import settings

    return float(settings.REINDEX["grace"]) + 1


def vacuum() -> None:
    from django.db import connections

    with connections["owner"].cursor() as cursor:
        cursor.execute("VACUUM documents_chunk, documents_chunkterms")


def report(
    load: Load, sizes: dict[str, dict[str, float]], *, empty: int, mixed: int, is_same: bool
) -> int:
    say("\n| queries | number | p50 ms | p95 ms |")
    say("|---|--:|--:|--:|")
    for phase in ("before", "during", "held up", "after"):
        say(load.figures(phase))
    during = middle(load.seconds["during"], 95)
    ratios = [during / middle(load.seconds[phase], 95) for phase in ("before", "held up")]
    say("\n| MB | chunk | chunkterms | embeddingcache |")
    say("|---|--:|--:|--:|")
    for when, size in sizes.items():
        say(f"| {when} | " + " | ".join(f"{value:.0f}" for _, value in sorted(size.items())) + " |")
    say()
    results = {
        f"0 of {len(load.seen)} answers empty: {empty}": empty == 0,
        f"0 answers mix profiles: {mixed}": mixed == 0,
        f"no errors: {len(load.errors)} {load.errors[:1]}": not load.errors,
        f"p95 during / before at most 1.5: {ratios[0]:.2f}": ratios[0] <= 1.5,
        f"p95 during / paused in between at most 1.5: {ratios[1]:.2f}": ratios[1] <= 1.5,
        f"the same chunks after {KILLS} kills": is_same,
    }
    for name, reached in results.items():
        say(f"{'yes' if reached else 'NO'}: {name}")
    return 0 if all(results.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
