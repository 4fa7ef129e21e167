"""Not ten times the same document: the best few chunks of each, in their order."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from .requests import Candidate


def limit_per_document(
    candidates: Iterable[Candidate], *, most: int
) -> tuple[list[Candidate], list[Candidate]]:
    """(kept, dropped); the dropped say why."""
    kept: list[Candidate] = []
    dropped: list[Candidate] = []
    seen: Counter[object] = Counter()
    for candidate in candidates:
        seen[candidate.document_id] += 1
        if seen[candidate.document_id] <= most:
            kept.append(candidate)
        else:
            dropped.append(replace(candidate, dropped="max_per_document"))
    return kept, dropped
