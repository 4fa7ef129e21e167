"""Measure how much of the wanted text the top five chunks contain: our chunkers and Recursive.

    make bench-chunking DATA=PATH

With the bundled model. Each of our settings is compared with a Recursive of the same mean chunk
size, on the same questions. Lengths are the model's own tokens for both sides; vectors are kept
between runs.
"""

import argparse
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from documents.chunking.methods import splitter_for
from documents.embedders.base import Embedder
from documents.embedders.sentence_transformers import SentenceTransformersEmbedder
from documents.extractors import extractor_for
from evaluation.benchmarks.data.excerpts import (
    ExcerptQuestion,
    Retrieved,
    load_corpora,
    load_questions,
    score,
)
from evaluation.benchmarks.data.vectors import KeptVectors
from evaluation.benchmarks.peers.recursive import RecursiveSplitter

TOP = 5
RESAMPLES = 10_000
COLUMNS = ("recall", "precision", "IoU")


@dataclass(frozen=True, slots=True)
class Setting:
    """The chunking settings of a profile."""

    chunker: str
    size: int
    overlap: int
    is_default: bool = False

    @property
    def name(self) -> str:
        mark = " (default)" if self.is_default else ""
        return f"{self.chunker} {self.size}/{self.overlap}{mark}"


CURVE = (
    Setting("structure", 80, 0),
    Setting("structure", 160, 24),
    Setting("structure", 220, 33, is_default=True),
    Setting("structure", 254, 120),
    Setting("structure", 350, 150),  # read in two windows
)
OTHERS = (Setting("fixed", 1000, 200), Setting("semantic", 220, 0))


@dataclass(frozen=True)
class ChunkerResult:
    name: str
    chunks: int
    tokens: float  # mean over all chunks
    retrieved_tokens: float  # mean over those in the answers
    scores: np.ndarray  # question × (recall, precision, IoU)


class ChunkingBench:
    def __init__(self, data: Path, embedder: Embedder, vectors: KeptVectors) -> None:
        self.embedder = embedder
        self.vectors = vectors
        self.corpora = load_corpora(data)
        self.questions = load_questions(data)
        markdown = extractor_for("text/markdown")
        self.extracted = {
            name: markdown.extract(text.encode()) for name, text in self.corpora.items()
        }
        moved = [name for name, text in self.corpora.items() if self.extracted[name].text != text]
        if moved:
            raise SystemExit(
                f"Extraction changes the text of {moved[0]}, so its spans would be wrong."
            )

        @cache
        def length(text: str) -> int:
            return embedder.count_tokens([text])[0]

        self.length = length

    def ours(self, setting: Setting) -> list[Retrieved]:
        splitter = splitter_for(
            setting.chunker, self.embedder, size=setting.size, overlap=setting.overlap, options={}
        )
        return [
            Retrieved(name, (passage.start, passage.end))
            for name, extracted in self.extracted.items()
            for passage in splitter.split(extracted)
        ]

    def recursive(self, size: int, overlap: int = 0) -> list[Retrieved]:
        splitter = RecursiveSplitter(self.length, size=size, overlap=overlap)
        return [
            Retrieved(name, span)
            for name, text in self.corpora.items()
            for span in splitter.split(text)
        ]

    def recursive_of_mean(self, tokens: float) -> tuple[str, list[Retrieved]]:
        """Return the Recursive splitter with this mean chunk size, found by bisection."""
        low, high = int(tokens), 3 * int(tokens)
        while high - low > 1:
            middle = (low + high) // 2
            if self.mean_tokens(self.recursive(middle)) < tokens:
                low = middle
            else:
                high = middle
        best = min((low, high), key=lambda size: self._miss(size, tokens))
        return f"Recursive {best}/0", self.recursive(best)

    def mean_tokens(self, chunks: Iterable[Retrieved]) -> float:
        return float(np.mean(self.embedder.count_tokens([self.text(chunk) for chunk in chunks])))

    def text(self, chunk: Retrieved) -> str:
        return self.corpora[chunk.corpus][slice(*chunk.span)]

    def measure(self, name: str, chunks: Sequence[Retrieved]) -> ChunkerResult:
        print(f"… {name}: {len(chunks)} chunks", file=sys.stderr)  # noqa: T201
        texts = [self.text(chunk) for chunk in chunks]
        questions = self.vectors.of([question.text for question in self.questions])
        similarity = questions @ self.vectors.of(texts).T
        nearest = np.argsort(-similarity, axis=1, kind="stable")[:, :TOP]
        tokens = np.array(self.embedder.count_tokens(texts))
        scores = [
            score(question, [chunks[index] for index in row])
            for question, row in zip(self.questions, nearest, strict=True)
        ]
        rows = [(one.recall, one.precision, one.iou) for one in scores]
        return ChunkerResult(
            name, len(chunks), float(tokens.mean()), float(tokens[nearest].mean()), np.array(rows)
        )

    def _miss(self, size: int, tokens: float) -> float:
        return abs(self.mean_tokens(self.recursive(size)) - tokens)


def interval(differences: np.ndarray) -> tuple[float, float, float]:
    """Return the mean difference and its 95 % interval, by resampling the questions."""
    random = np.random.default_rng(0)
    draws = random.integers(0, len(differences), (RESAMPLES, len(differences)))
    low, high = np.percentile(differences[draws].mean(axis=1), [2.5, 97.5])
    return float(differences.mean()), float(low), float(high)


def table(results: Sequence[ChunkerResult]) -> Iterable[str]:
    yield "| chunker | chunks | mean tokens | retrieved | recall | precision | IoU |"
    yield "|---|--:|--:|--:|--:|--:|--:|"
    for one in results:
        recall, precision, iou = 100 * one.scores.mean(axis=0)
        sizes = f"{one.chunks} | {one.tokens:.1f} | {one.retrieved_tokens:.1f}"
        yield f"| {one.name} | {sizes} | {recall:.1f} | {precision:.2f} | {iou:.2f} |"


def paired(pairs: Sequence[tuple[ChunkerResult, ChunkerResult]]) -> Iterable[str]:
    yield "| ours | against, at equal mean tokens | recall, points | IoU, points |"
    yield "|---|---|--:|--:|"
    for ours, other in pairs:
        cells = []
        for column in (COLUMNS.index("recall"), COLUMNS.index("IoU")):
            mean, low, high = interval(ours.scores[:, column] - other.scores[:, column])
            cells.append(f"{100 * mean:+.2f} [{100 * low:+.2f}, {100 * high:+.2f}]")
        yield f"| {ours.name} | {other.name} | {' | '.join(cells)} |"


def per_corpus(
    results: Sequence[ChunkerResult], questions: Sequence[ExcerptQuestion]
) -> Iterable[str]:
    corpora = sorted({question.corpus for question in questions})
    yield f"| recall / IoU | {' | '.join(corpora)} |"
    yield "|---|" + "--:|" * len(corpora)
    for one in results:
        cells = []
        for corpus in corpora:
            own = [question.corpus == corpus for question in questions]
            recall, _, iou = 100 * one.scores[own].mean(axis=0)
            cells.append(f"{recall:.1f} / {iou:.2f}")
        yield f"| {one.name} | {' | '.join(cells)} |"


def run(bench: ChunkingBench, settings: Sequence[Setting], show: Callable[[str], None]) -> None:
    results: list[ChunkerResult] = []
    pairs: list[tuple[ChunkerResult, ChunkerResult]] = []
    for setting in settings:
        ours = bench.measure(setting.name, bench.ours(setting))
        other = bench.measure(*bench.recursive_of_mean(ours.tokens))
        results += [ours, other]
        pairs.append((ours, other))
    for lines in (table(results), paired(pairs), per_corpus(results, bench.questions)):
        show("\n".join(lines) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="corpora/ and questions_df.csv")
    parser.add_argument("--all", action="store_true", help="the fixed and semantic chunkers too")
    parser.add_argument(
        "--threads", type=int, default=0, help="for the model; 0 leaves it to torch"
    )
    arguments = parser.parse_args()
    embedder = SentenceTransformersEmbedder(threads=arguments.threads)
    bench = ChunkingBench(arguments.data, embedder, KeptVectors(embedder))
    run(bench, (*CURVE, *OTHERS) if arguments.all else CURVE, print)


if __name__ == "__main__":
    main()
