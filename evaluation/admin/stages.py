"""The stages of a search in the order they happen, for tables of timings."""

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
    """Stages with their figures, the total last; JSON columns keep them by their names' length."""
    unknown = len(ORDER) - 1.5  # before the total
    return sorted(by_stage.items(), key=lambda item: (_PLACES.get(item[0], unknown), item[0]))
