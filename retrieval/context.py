"""The passages as one numbered text for a language model, within a budget of tokens."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

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
    costs = _costs(hits, count_tokens)
    kept: list[int] = []
    dropped: list[Candidate] = []
    left = budget
    for index, hit in enumerate(hits):
        if costs[index] <= left:
            kept.append(index)
            left -= costs[index]
        else:
            hit.candidate.dropped = "token_budget"
            dropped.append(hit.candidate)
    blocks = [
        f"[{n}] {above(hits[index])}\n{hits[index].content}" for n, index in enumerate(kept, 1)
    ]
    return Context(
        text="\n\n".join(blocks),
        tokens=budget - left,
        hits=tuple(hits[index] for index in kept),
        dropped=tuple(dropped),
    )


def _costs(hits: Sequence[Hit], count_tokens: CountTokens) -> list[int]:
    """Tokens of each block. A chunk's own were counted when it was indexed; only what stands above
    it and around it is counted here, with a number of three digits, because the real one is not
    known yet."""
    texts = [f"[999] {above(hit)}\n{hit.uncounted}" for hit in hits]
    return [
        hit.tokens + tokens
        for hit, tokens in zip(hits, count_tokens(texts) if texts else [], strict=True)
    ]


def above(hit: Hit) -> str:
    """What a reader needs to know first: where the passage stands, and what heads its rows."""
    return lines_above(hit.title, hit.section, hit.page, hit.source_uri, hit.table_header)


def lines_above(
    title: str, section: str, page: int | None, source_uri: str, table_header: str
) -> str:
    place = _place(title, section, page) or source_uri
    return f"{place}\n{table_header}" if table_header else place


def place_of(hit: Hit) -> str:
    return _place(hit.title, hit.section, hit.page) or hit.source_uri


def _place(title: str, section: str, page: int | None) -> str:
    """Title, section and page, as a person would cite them; a title that opens the section once."""
    title = "" if section.startswith(title) else title
    return " — ".join(part for part in (title, section, f"p. {page}" if page else "") if part)
