"""The vector index methods: their operators, options and build parameters."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import isqrt
from typing import Any

MAX_DIMENSIONS = 4000  # a halfvec with more cannot be indexed
MIN_ROWS = 1000  # with fewer, clusters mean nothing and a scan is as fast

Bounds = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Method:
    """An index access method of PostgreSQL."""

    extension: str  # that provides it
    type: str  # of vector that it indexes
    operators: str
    options: Mapping[str, Bounds] = field(default_factory=dict)
    needs_rows: bool = False  # it clusters the rows that exist when it is built


METHODS = {
    "hnsw": Method(
        "vector",
        "halfvec",
        "halfvec_cosine_ops",
        {"m": (2, 100), "ef_construction": (4, 1000)},
    ),
    "ivfflat": Method(
        "vector",
        "halfvec",
        "halfvec_cosine_ops",
        {"lists": (1, 32768), "probes": (1, 32768)},
        needs_rows=True,
    ),
    "diskann": Method("vectorscale", "vector", "vector_cosine_ops"),
    "scann": Method(
        "alloydb_scann", "vector", "cosine", {"num_leaves": (1, 1048576)}, needs_rows=True
    ),
}


def ann_errors(name: str, options: Any) -> str:
    """Return what is wrong with these options for the method; "" if nothing is."""
    known = METHODS[name].options if name in METHODS else {}
    if not isinstance(options, dict):
        return "An object, such as {}."
    for option, value in options.items():
        if option not in known:
            return f"{name} has no option {str(option)!r}."
        minimum, maximum = known[option]
        if type(value) is not int or not minimum <= value <= maximum:
            return f"{option}: a whole number from {minimum} to {maximum}."
    if name == "hnsw" and options.get("ef_construction", 64) < 2 * options.get("m", 16):
        return "ef_construction: at least twice m."
    return ""


def build_options(name: str, options: Mapping[str, int], *, rows: int) -> dict[str, int]:
    """Return the parameters to build the index with, for this many rows."""
    if name == "hnsw":
        return {"m": options.get("m", 16), "ef_construction": options.get("ef_construction", 64)}
    if name == "ivfflat":
        # As pgvector recommends: rows / 1000, and the square root beyond a million rows.
        lists = rows // 1000 if rows <= 1_000_000 else isqrt(rows)
        return {"lists": options.get("lists", max(10, lists))}
    if name == "scann":
        return {"num_leaves": options.get("num_leaves", max(1, isqrt(rows)))}
    return {}


def probes(options: Mapping[str, int], facts: Mapping[str, int]) -> int:
    """Return how many lists of an ivfflat index to scan first; the scan continues if necessary."""
    return options.get("probes", 0) or max(1, isqrt(facts.get("lists", 1) - 1) + 1)
