"""Measure the speed of embedding, relative to the bare model in one run: `make bench-embedding`.

With the bundled model: a single question; many passages, with torch and with onnxruntime; documents
through the whole pipeline, from the queue to searchable chunks, relative to the model's bare
`encode` on the same texts; and the same documents again.
"""

import argparse
import random
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from documents.embedders.encoders import TorchEncoder
from documents.embedders.sentence_transformers import SentenceTransformersEmbedder
from evaluation.benchmarks.data import samples
from evaluation.benchmarks.ingest.speed import cpu_seconds, say, take
from evaluation.benchmarks.service import stage

TARGET = 0.90
PACKAGES = ("torch", "sentence-transformers", "onnxruntime", "tokenizers")


class RecordingEmbedder(SentenceTransformersEmbedder):
    """Records the texts that it embeds."""

    texts: list[str] = []

    def embed_batch(self, texts: list[str]) -> list[list[float]]:
        self.texts.extend(texts)
        return super().embed_batch(texts)


def documents(count: int) -> list[str]:
    """Return different reports of a dozen sections with one or two passages each."""
    chance = random.Random(7)  # noqa: S311

    def sentence() -> str:
        return " ".join(chance.choices(samples.WORDS, k=chance.randint(6, 24))).capitalize() + "."

    def section(number: int) -> str:
        body = " ".join(sentence() for _ in range(chance.randint(6, 22)))
        return f"## Part {number}\n\n{body}"

    return [
        "\n\n".join([f"# Report {n}", *(section(part) for part in range(12))]) for n in range(count)
    ]


class Time(NamedTuple):
    wall: float
    cpu: float


def seconds(act: Callable[[], object]) -> Time:
    wall, cpu = time.perf_counter(), cpu_seconds()
    act()
    return Time(time.perf_counter() - wall, cpu_seconds() - cpu)


def runtimes(threads: int) -> dict[str, SentenceTransformersEmbedder]:
    made = {
        "torch": SentenceTransformersEmbedder(threads=threads, runtime="torch"),
        "onnxruntime": SentenceTransformersEmbedder(threads=threads),
    }
    for embedder in made.values():
        embedder.warm()
    return made


def a_question() -> None:
    made = runtimes(1)
    times: dict[str, list[float]] = {name: [] for name in made}
    for number in range(60):
        for name, embedder in made.items():
            started = time.perf_counter()
            embedder.embed_query(f"how does part {number} of the lamp move in the harbour at night")
            times[name].append((time.perf_counter() - started) * 1000)
    say("\na question of 13 words, one thread\n\n| | p50 ms | p95 ms |\n|---|--:|--:|")
    for name, taken in times.items():
        ordered = sorted(taken)
        say(f"| {name} | {statistics.median(taken):.1f} | {ordered[int(0.95 * 60)]:.1f} |")


def many_passages(texts: Sequence[str], threads: int, rounds: int) -> None:
    import torch

    made = runtimes(threads)
    torch.set_num_threads(threads)
    ways = {name: partial(_all, embedder, texts) for name, embedder in made.items()}
    tokens = sum(made["torch"].count_tokens(texts)) / len(texts)
    title = f"{tokens:.0f} tokens each, batches of 64, {threads} threads"
    table(title, in_turns(ways, rounds), len(texts))


def pipeline(count: int, rounds: int) -> tuple[bool, Any, list[str]]:
    """Return whether it keeps up with the bare model, the last namespace, and the texts."""
    made = runtimes(1)
    model = TorchEncoder("", made["torch"].files, threads=1, batch_size=64, device="cpu").model
    times: dict[str, list[Time]] = {"bare `encode`": [], "our runtime, bare": [], "pipeline": []}
    take(_namespace().pk, "first.md", b"# First\n\nSo that models and processes are there.")
    stage.work()
    for _ in range(rounds):
        tenant = _namespace()
        for place, text in enumerate(documents(count)):
            take(tenant.pk, f"{place}.md", text.encode())
        RecordingEmbedder.texts.clear()
        times["pipeline"].append(seconds(stage.work))
        texts = list(RecordingEmbedder.texts)
        encode = partial(model.encode, texts, batch_size=64, show_progress_bar=False)
        times["bare `encode`"].append(seconds(encode))
        times["our runtime, bare"].append(seconds(partial(_all, made["onnxruntime"], texts)))
    table(f"{count} documents through one worker with one thread", times, len(texts))
    bare, runtime, own = (statistics.median(t.wall for t in taken) for taken in times.values())
    say(f"\nthe pipeline has {bare / own:.0%} of bare `encode`, {runtime / own:.0%} of our runtime")
    return bare / own >= TARGET, tenant, texts


def ingest_again(tenant: Any, count: int) -> bool:
    """Ingest the same texts under other names, which needs no embedding."""
    from django.core.files.base import ContentFile

    from documents.intake import intake

    RecordingEmbedder.texts.clear()
    for place, text in enumerate(documents(count)):
        copy = intake.Submission(
            ContentFile(text.encode()),
            file_name=f"{place}.md",
            source_uri=f"again/{place}",
            on_duplicate="keep",
        )
        intake.accept(tenant.pk, copy)
    time_taken = seconds(stage.work)
    embedded = len(RecordingEmbedder.texts)
    say(f"\nthe same documents once more: {embedded} texts embedded, {time_taken.wall:.1f} s")
    return not RecordingEmbedder.texts


def in_turns(ways: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, list[Time]]:
    """Measure in turns, so that a slow moment of the machine affects all equally."""
    times: dict[str, list[Time]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, way in ways.items():
            times[name].append(seconds(way))
    return times


def table(title: str, times: dict[str, list[Time]], passages: int) -> None:
    say(f"\n{title}: {passages} passages\n")
    say("| | passages a second | processor ms each |\n|---|--:|--:|")
    for name, taken in times.items():
        wall = statistics.median(t.wall for t in taken)
        cpu = statistics.median(t.cpu for t in taken)
        say(f"| {name} | {passages / wall:.1f} | {cpu / passages * 1000:.1f} |")


def _all(embedder: SentenceTransformersEmbedder, texts: Sequence[str]) -> list[Any]:
    return list(embedder.embed_documents(sorted(texts, key=len)))


def _namespace() -> Any:
    """Create a namespace with the default profile and the real model."""
    from documents.models import IndexProfile
    from ragsite.database.tenancy import operator

    created = stage.new_namespace()
    with operator():
        created.active_profile = IndexProfile.objects.get(name="default")
        created.save()
    return created


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=12)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    stage.set_up()
    from django.conf import settings

    path = "evaluation.benchmarks.ingest.embedding.RecordingEmbedder"
    settings.EMBEDDERS["default"] = {"BACKEND": path, "OPTIONS": {"threads": 1}}
    say(stage.machine(PACKAGES))
    a_question()
    keeps_up, tenant, texts = pipeline(options.documents, options.rounds)
    is_free = ingest_again(tenant, options.documents)
    for threads in (1, 2):
        many_passages(texts[:128], threads, options.rounds)
    say()
    for name, reached in (
        (f"the pipeline at {TARGET:.0%} of bare `encode`", keeps_up),
        ("a second ingest embeds nothing", is_free),
    ):
        say(f"{'yes' if reached else 'NO'}: {name}")
    return 0 if keeps_up and is_free else 1


if __name__ == "__main__":
    from evaluation.benchmarks.ingest.embedding import main as run  # the module that settings name

    sys.exit(run())
