"""The vector index methods: their operators, options and build parameters."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import isqrt
from typing import Any

MAX_DIMENSIONS = 4000  # maximum number of dimensions of an indexed halfvec
MIN_ROWS = 1000  # with fewer rows clusters are meaningless and a scan is as fast

Bounds = tuple[int, int]


DEFAULT_RESCORE = 8

HNSW_OPTIONS: Mapping[str, Bounds] = {"m": (2, 100), "ef_construction": (4, 1000)}


@dataclass(frozen=True, slots=True)
class Method:
    """A way to index vectors."""

    extension: str  # the PostgreSQL extension that provides it
    type: str  # the type of vector that it indexes
    operators: str
    options: Mapping[str, Bounds] = field(default_factory=dict)
    needs_rows: bool = False  # whether it clusters the rows that exist when it is built
    access_method: str = ""  # PostgreSQL's name for it, if different
    is_untested: bool = False  # whether it has never been tested on a server that has it


METHODS = {
    "hnsw": Method("vector", "halfvec", "halfvec_cosine_ops", HNSW_OPTIONS),
    # One bit for each number: its sign. More candidates are taken, and compared in full.
    "bit": Method(
        "vector",
        "bit",
        "bit_hamming_ops",
        {**HNSW_OPTIONS, "rescore": (1, 100)},
        access_method="hnsw",
    ),
    "ivfflat": Method(
        "vector",
        "halfvec",
        "halfvec_cosine_ops",
        {"lists": (1, 32768), "probes": (1, 32768)},
        needs_rows=True,
    ),
    "scann": Method(
        "alloydb_scann",
        "vector",
        "cosine",
        {"num_leaves": (1, 1048576)},
        needs_rows=True,
        is_untested=True,
    ),
    "vchordrq": Method("vchord", "halfvec", "halfvec_cosine_ops", is_untested=True),
}

# Profiles with these methods no longer have an index: their vectors are scanned exactly.
WITHDRAWN = {
    "diskann": "diskann has been withdrawn: with an index on an expression, pgvectorscale 0.9 "
    'fails each query with "assertion failed: attnum > 0". Use hnsw, or bit for the least memory.'
}


def remark(name: str) -> str:
    """Return a remark for operators about the method; "" if there is none."""
    if name in WITHDRAWN:
        return "withdrawn, scanned exactly"
    return "untested" if name in METHODS and METHODS[name].is_untested else ""


def access_method(name: str) -> str:
    return METHODS[name].access_method or name


def indexed(name: str, dimensions: int, column: str = "embedding") -> str:
    """Return the SQL expression that is indexed; a query must repeat it."""
    vector_type = f"{METHODS[name].type}({dimensions:d})"
    if METHODS[name].type == "bit":
        return f"binary_quantize({column})::{vector_type}"
    return f"{column}::{vector_type}"


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
    if "m" in known and options.get("ef_construction", 64) < 2 * options.get("m", 16):
        return "ef_construction: at least twice m."
    return ""


def build_options(name: str, options: Mapping[str, int], *, rows: int) -> dict[str, int]:
    """Return the parameters to build the index with, for this many rows."""
    if name in ("hnsw", "bit"):
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


def rescored(options: Mapping[str, int]) -> int:
    """Return the factor by which more candidates than requested are taken by their bits."""
    return options.get("rescore", DEFAULT_RESCORE)
