"""The passages as one numbered text for a language model, within a budget of tokens."""

import uuid
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from .requests import Candidate, Hit

CountTokens = Callable[[Sequence[str]], list[int]]

# A document that is there already must beat a new one by this much of the score.
MARGIN = 0.05


@dataclass(frozen=True, slots=True)
class Context:
    text: str
    tokens: int
    hits: tuple[Hit, ...]
    dropped: tuple[Candidate, ...]


def assemble(hits: Sequence[Hit], *, budget: int, count_tokens: CountTokens) -> Context:
    """Keep the best hits that fit. The number before each block is its citation's id.

    Where not all fit, a document not yet heard goes before another passage of one that is, if
    their scores are close.
    """
    blocks = [f"{place_of(hit)}\n{hit.content}" for hit in hits]
    costs = _costs(hits, count_tokens)
    chosen = range(len(hits)) if sum(costs) <= budget else _choose(hits, costs, budget)
    kept = sorted(chosen)
    left_out = set(range(len(hits))).difference(kept)
    dropped = [hits[index].candidate for index in sorted(left_out)]
    for candidate in dropped:
        candidate.dropped = "token_budget"
    return Context(
        text="\n\n".join(f"[{n}] {blocks[index]}" for n, index in enumerate(kept, start=1)),
        tokens=sum(costs[index] for index in kept),
        hits=tuple(hits[index] for index in kept),
        dropped=tuple(dropped),
    )


def _costs(hits: Sequence[Hit], count_tokens: CountTokens) -> list[int]:
    """Tokens of each block. A chunk's own were counted when it was indexed; only what stands above
    it and around it is counted here, with a number of three digits, because the real one is not
    known yet."""
    texts = [f"[999] {place_of(hit)}\n{hit.uncounted}" for hit in hits]
    return [
        hit.tokens + tokens
        for hit, tokens in zip(hits, count_tokens(texts) if texts else [], strict=True)
    ]


def _choose(hits: Sequence[Hit], costs: Sequence[int], budget: int) -> list[int]:
    chosen: list[int] = []
    heard: Counter[uuid.UUID] = Counter()
    waiting = [index for index in range(len(hits)) if costs[index] <= budget]
    while waiting:
        best = max(
            waiting,
            key=lambda index: (
                hits[index].candidate.final
                - MARGIN
                * abs(hits[index].candidate.final)
                * heard[hits[index].candidate.document_id],
                -index,
            ),
        )
        chosen.append(best)
        heard[hits[best].candidate.document_id] += 1
        budget -= costs[best]
        waiting = [index for index in waiting if index != best and costs[index] <= budget]
    return chosen


def place_of(hit: Hit) -> str:
    """Title, section and page, as a person would cite them; a title that opens the section once."""
    title = "" if hit.section.startswith(hit.title) else hit.title
    page = f"p. {hit.page}" if hit.page else ""
    return " — ".join(part for part in (title, hit.section, page) if part) or hit.source_uri
