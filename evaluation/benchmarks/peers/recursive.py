"""The published Recursive splitter, as a baseline: separators by rank, pieces merged greedily.

The algorithm of langchain's RecursiveCharacterTextSplitter with the separators of the published
evaluation, on spans instead of strings. It gives the same chunks (docs/decisions/0012-chunkers.md).
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

from documents.text.boundaries import Span, trimmed

SEPARATORS = ("\n\n", "\n", ".", "?", "!", " ", "")


class RecursiveSplitter:
    """`size` and `overlap` are in the unit of `length`."""

    def __init__(self, length: Callable[[str], int], *, size: int, overlap: int) -> None:
        self.length = length
        self.size = size
        self.overlap = overlap

    def split(self, text: str) -> list[Span]:
        spans = self._split(text, (0, len(text)), SEPARATORS)
        tight = (trimmed(text, *span) for span in spans)
        return [span for span in tight if span[0] < span[1]]

    def _split(self, text: str, span: Span, separators: Sequence[str]) -> Iterator[Span]:
        piece = text[slice(*span)]
        rank = next(n for n, separator in enumerate(separators) if separator in piece)
        smaller = separators[rank + 1 :]
        small: list[Span] = []
        for part in _parts(text, span, separators[rank]):
            if self._length_of(text, part) < self.size:
                small.append(part)
                continue
            yield from self._merged(text, small)
            small = []
            yield from self._split(text, part, smaller) if smaller else [part]
        yield from self._merged(text, small)

    def _merged(self, text: str, parts: Sequence[Span]) -> Iterator[Span]:
        lengths = [self._length_of(text, part) for part in parts]
        first, total = 0, 0
        for number, length in enumerate(lengths):
            if total + length > self.size and number > first:
                yield parts[first][0], parts[number - 1][1]
                while total > self.overlap or (total + length > self.size and total > 0):
                    total -= lengths[first]
                    first += 1
            total += length
        if parts and first < len(parts):
            yield parts[first][0], parts[-1][1]

    def _length_of(self, text: str, span: Span) -> int:
        return self.length(text[slice(*span)])


def _parts(text: str, span: Span, separator: str) -> list[Span]:
    """Each part begins with its separator, except perhaps the first."""
    start, end = span
    if not separator:
        return [(place, place + 1) for place in range(start, end)]
    edges = [start]
    place = text.find(separator, start, end)
    while place >= 0:
        if place > edges[-1]:
            edges.append(place)
        place = text.find(separator, place + len(separator), end)
    return list(pairwise([*edges, end]))
