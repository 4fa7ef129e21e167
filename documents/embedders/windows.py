"""Split a text that is too long for the model into even windows, and average their vectors,
weighted by tokens."""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tokenizers import Tokenizer

CHARACTERS_PER_TOKEN = 12  # maximum average
SLACK = 8  # free tokens per window, so that it can start with a whole word


def windows(
    text: str, tokenizer: "Tokenizer", *, tokens: int, at_most: int
) -> list[tuple[str, int]]:
    """Return the windows of a text with their token counts; most texts are a single window."""
    if len(text) <= tokens:  # no token is shorter than a character
        return [(text, 1)]
    # Tokenizing costs time and memory per character, and the rest is not used.
    text = text[: tokens * at_most * CHARACTERS_PER_TOKEN]
    encoding = tokenizer.encode(text, add_special_tokens=False)
    read = min(len(encoding), tokens * at_most)
    if read <= tokens:
        return [(text, 1)]
    count = -(-read // max(SLACK, tokens - SLACK))
    words = encoding.word_ids
    edges = [_word_start(words, read * number // count) for number in range(count)]
    return [
        (text[encoding.offsets[first][0] : encoding.offsets[stop - 1][1]], stop - first)
        for first, stop in pairwise([*edges, read])
    ]


def mean(vectors: Sequence[tuple[list[float], int]]) -> list[float]:
    """Return the normalised weighted mean of the vectors of one text's windows."""
    if len(vectors) == 1:
        return vectors[0][0]
    summed = [
        sum(value * tokens for value, (_, tokens) in zip(values, vectors, strict=True))
        for values in zip(*(vector for vector, _ in vectors), strict=True)
    ]
    length = math.hypot(*summed)
    return [value / length for value in summed]


def _word_start(words: Sequence[int | None], token: int) -> int:
    """Return the first token of the word that contains this token, if it is near."""
    start = token
    while start and words[start] is not None and words[start] == words[start - 1]:
        start -= 1
    return start if token - start < SLACK else token
