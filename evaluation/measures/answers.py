"""answer@context: is the answer in the context? Plain Python.

A query has this measure if text is judged relevant for it. The context must contain one of the
best-graded quotations, ignoring differences in white space. If the judgements belong to numbered
parts of the answer, it must contain one for each part.
"""

from collections.abc import Collection, Sequence

from .matching import Judged


def collapsed(text: str) -> str:
    return " ".join(text.split())


def holds(context: str, parts: Sequence[Collection[str]]) -> bool:
    """Whether the context contains one text for each part. White space counts as one space."""
    flat = collapsed(context)
    return all(any(collapsed(text) in flat for text in texts) for texts in parts)


def parts_of(judgements: Collection[Judged]) -> list[list[str]]:
    """Return the best-graded quotations for each part; empty if only documents are judged."""
    parts: dict[int, list[Judged]] = {}
    for judged in judgements:
        if judged.grade > 0 and judged.quote:
            parts.setdefault(judged.part, []).append(judged)
    return [_best(parts[number]) for number in sorted(parts)]


def _best(judgements: Sequence[Judged]) -> list[str]:
    best = max(judged.grade for judged in judgements)
    return [judged.quote for judged in judgements if judged.grade == best]


def answer_in_context(context: str, judgements: Collection[Judged]) -> float | None:
    """Return 1 or 0, or None if no text is judged."""
    parts = parts_of(judgements)
    return float(holds(context, parts)) if parts else None
