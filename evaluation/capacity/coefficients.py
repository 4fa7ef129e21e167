"""The cost of a chunk and of a question, as measured by `make bench-scale`."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

MEASURED = Path(__file__).with_name("coefficients.json")


@dataclass(frozen=True, slots=True)
class Growth:
    """cost = factor · chunks ** power, fitted to the measured sizes."""

    factor: float
    power: float

    def at(self, chunks: float) -> float:
        return float(self.factor * max(chunks, 1.0) ** self.power)


@dataclass(frozen=True, slots=True)
class MeasuredPoint:
    """What was measured at one size, for checking what is computed from the coefficients."""

    chunks: int
    postgres_ms: float  # CPU of a question
    bytes_on_disk: float  # of a chunk: tables, index of words, vector index
    p95_ms: float  # of a search
    floor_p95_ms: float  # of its embedding and its two bare statements


@dataclass(frozen=True, slots=True)
class Coefficients:
    machine: str
    measured_chunks: Sequence[int]  # measured sizes; beyond the largest everything is extrapolated
    vectors: str  # description of the data
    table_bytes: float  # bytes of a chunk: its text, vector and words, with the smaller indexes
    words_index_bytes: float  # bytes of a chunk in the index of words
    vector_index_bytes: Mapping[str, float]  # bytes of a chunk, by index method
    recall: Mapping[str, float]  # recall at 10, by index method, at the largest size
    load_rate: float  # chunks per second and core, without embedding and indexes
    build_rate: Mapping[str, float]  # chunks per second and core, by index method
    embed_rate: float  # chunks per second and core
    web_ms: float  # CPU time of a question in the web process, with its embedding
    postgres_ms: Growth  # CPU time of a question in PostgreSQL
    notes: Sequence[str] = field(default_factory=tuple)
    points: Sequence[MeasuredPoint] = field(default_factory=tuple)  # one for each size

    @property
    def largest(self) -> int:
        return max(self.measured_chunks)


def fitted(sizes: Sequence[float], costs: Sequence[float]) -> Growth:
    """Fit a power law by least squares of the logarithms; through one size, a constant."""
    if len(sizes) < 2:
        return Growth(float(costs[0]), 0.0)
    power, constant = np.polyfit(np.log(sizes), np.log(costs), 1)
    return Growth(float(np.exp(constant)), float(power))


def read(path: Path = MEASURED) -> Coefficients:
    found: dict[str, Any] = json.loads(path.read_text())
    points = [MeasuredPoint(**point) for point in found.get("points", ())]
    return Coefficients(
        **{**found, "postgres_ms": Growth(**found["postgres_ms"]), "points": points}
    )


def write(coefficients: Coefficients, path: Path = MEASURED) -> None:
    path.write_text(json.dumps(asdict(coefficients), indent=2) + "\n")
