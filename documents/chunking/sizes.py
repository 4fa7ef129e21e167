"""Size limits of passages."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

CountTokens = Callable[[Sequence[str]], list[int]]

CHARACTERS_PER_TOKEN = 12  # maximum average; excludes passages that are one endless word


@dataclass(frozen=True, slots=True)
class Sizes:
    """Sizes in tokens, except `characters`."""

    size: int  # target
    overlap: int  # maximum, repeated from the previous passage
    limit: int  # never exceeded
    characters: int  # maximum length of a passage: one token can be a very long word


def token_sizes(size: int, *, overlap: int, limit: int) -> Sizes:
    return Sizes(size, overlap, limit, characters=limit * CHARACTERS_PER_TOKEN)
