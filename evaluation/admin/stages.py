"""The stages of a search in their order, for tables of timings."""

from collections.abc import Mapping
from typing import Any

ORDER = (
    "embed",
    "vector",
    "lexical",
    "score",
    "fuse",
    "rerank",
    "read",
    "assemble",
    "question",
    "search",
    "second_search",
    "first_text",
    "write",
    "judge",
    "verify",
    "total",
)
_PLACES = {name: place for place, name in enumerate(ORDER)}


def in_pipeline_order(by_stage: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Return stages with their figures in order, the total last; JSON columns sort them by
    length."""
    unknown = len(ORDER) - 1.5  # before the total
    return sorted(by_stage.items(), key=lambda item: (_PLACES.get(item[0], unknown), item[0]))
