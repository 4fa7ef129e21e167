"""The chunking benchmark from its files to its tables, on a corpus of one page."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from documents.embedders.hashing import HashingEmbedder
from evaluation.benchmarks.data.vectors import KeptVectors
from evaluation.benchmarks.ingest.chunking import ChunkingBench, Setting, interval, run

SENTENCES = [f"Sentence {n} tells of thing{n} in some words." for n in range(40)]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    text = " ".join(SENTENCES)
    (tmp_path / "corpora").mkdir()
    (tmp_path / "corpora" / "things.md").write_text(text)
    with (tmp_path / "questions_df.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["question", "references", "corpus_id"])
        for number in (3, 17, 31):
            start = text.index(SENTENCES[number])
            excerpt = {"start_index": start, "end_index": start + len(SENTENCES[number])}
            rows.writerow([f"What of thing{number}?", json.dumps([excerpt]), "things"])
    return tmp_path


def test_each_setting_meets_a_recursive_of_the_same_mean_size(data: Path) -> None:
    embedder = HashingEmbedder()
    bench = ChunkingBench(data, embedder, KeptVectors(embedder, directory=data))
    shown: list[str] = []
    run(bench, [Setting("structure", 20, 0), Setting("fixed", 120, 20)], shown.append)
    table, paired, by_corpus = (part.splitlines()[2:] for part in shown)
    assert [line.split(" | ")[0] for line in table][::2] == ["| structure 20/0", "| fixed 120/20"]
    for ours, other in zip(table[::2], table[1::2], strict=True):
        assert float(ours.split(" | ")[2]) == pytest.approx(float(other.split(" | ")[2]), rel=0.25)
        assert float(ours.split(" | ")[4]) == 100.0
    assert len(paired) == 2
    assert by_corpus[0].startswith("| structure 20/0 | 100.0 / ")
    again = KeptVectors(embedder, directory=data)
    embedder.embed_batch = pytest.fail  # type: ignore[method-assign,assignment]
    assert again.of(["What of thing3?"]).shape == (1, 256)


def test_an_interval_holds_its_mean() -> None:
    mean, low, high = interval(np.array([0.0, 1.0] * 50))
    assert low < mean == 0.5 < high
