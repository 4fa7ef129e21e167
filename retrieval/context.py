"""The passages as one numbered text for a language model, within a budget of tokens."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from .requests import Candidate, Hit

CountTokens = Callable[[Sequence[str]], list[int]]


@dataclass(frozen=True, slots=True)
class Context:
    text: str
    tokens: int
    hits: tuple[Hit, ...]
    dropped: tuple[Candidate, ...]


def assemble(hits: Sequence[Hit], *, budget: int, count_tokens: CountTokens) -> Context:
    """Keep the best hits that fit. The number before each block is its citation's id."""
    kept: list[Hit] = []
    blocks: list[str] = []
    dropped: list[Candidate] = []
    spent = 0
    for hit in hits:
        block = f"[{len(kept) + 1}] {place_of(hit)}\n{hit.content}"
        (cost,) = count_tokens([block])
        if spent + cost > budget:
            dropped.append(replace(hit.candidate, dropped="token_budget"))
            continue
        kept.append(hit)
        blocks.append(block)
        spent += cost
    return Context("\n\n".join(blocks), spent, tuple(kept), tuple(dropped))


def place_of(hit: Hit) -> str:
    """Title, section and page, as a person would cite them; a title that opens the section once."""
    title = "" if hit.section.startswith(hit.title) else hit.title
    page = f"p. {hit.page}" if hit.page else ""
    return " — ".join(part for part in (title, hit.section, page) if part) or hit.source_uri
