"""Give search results short ids that no document can guess."""

import secrets
from collections.abc import Iterable, Sequence

from retrieval.requests import Hit

from .requests import Evidence

ID_LENGTH = 4
ALPHABET = "abcdefghjkmnpqrstuvwxyz23456789"  # no characters that are easily misread


def number_evidence(hits: Sequence[Hit], *, known: Sequence[Evidence] = ()) -> tuple[Evidence, ...]:
    """Give each hit an id, keeping the ids of passages that already have one."""
    by_chunk = {item.hit.candidate.chunk_id: item for item in known}
    taken = {item.id for item in known}
    numbered = []
    for hit in hits:
        item = by_chunk.get(hit.candidate.chunk_id)
        if item is None:
            item = Evidence(_new_id(taken), hit, as_of=hit.dated_at)
            taken.add(item.id)
        numbered.append(item)
    return tuple(numbered)


def _new_id(taken: set[str]) -> str:
    """Return a random id, so that a document cannot name itself as a source."""
    while True:
        new = "".join(secrets.choice(ALPHABET) for _ in range(ID_LENGTH))
        # A digit keeps ids from being words.
        if new not in taken and any(character.isdigit() for character in new):
            return new


def merge_hits(first: Iterable[Hit], second: Iterable[Hit], *, token_budget: int) -> list[Hit]:
    """Merge both lists without repeats, most relevant first, within the budget."""
    merged = {hit.candidate.chunk_id: hit for hit in (*second, *first)}
    ranked = sorted(merged.values(), key=lambda hit: hit.relevance or 0.0, reverse=True)
    kept: list[Hit] = []
    spent = 0
    for hit in ranked:
        spent += hit.tokens
        if kept and spent > token_budget:
            break
        kept.append(hit)
    return kept
