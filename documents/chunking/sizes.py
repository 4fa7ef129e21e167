"""How large passages may be."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

CountTokens = Callable[[Sequence[str]], list[int]]

CHARACTERS_PER_TOKEN = 12  # at most, on average; so that no passage is one endless word


@dataclass(frozen=True, slots=True)
class Sizes:
    """All in tokens but for `characters`."""

    size: int  # aimed at
    overlap: int  # repeated from the passage before, at most
    limit: int  # never exceeded
    characters: int  # of a passage at most: one token can be a very long word


def token_sizes(size: int, *, overlap: int, limit: int) -> Sizes:
    return Sizes(size, overlap, limit, characters=limit * CHARACTERS_PER_TOKEN)
