"""The borders of chunks in a document's text, as pieces of the text to display."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from documents.models import Chunk


@dataclass(frozen=True, slots=True)
class TextPiece:
    """A part of a text that lies in the same chunks from its first to its last character."""

    text: str
    chunks: tuple[Chunk, ...]  # empty: in no chunk; several: where chunks overlap
    beginning: tuple[Chunk, ...]  # the chunks that begin here

    @property
    def kind(self) -> str:
        if not self.chunks:
            return "outside"
        if len(self.chunks) > 1:
            return "overlap"
        return "odd" if self.chunks[0].ordinal % 2 else "even"


def pieces(text: str, *, first: int, chunks: Sequence[Chunk]) -> list[TextPiece]:
    """Split a window of a text, which starts at the position `first`, at the chunks' borders."""
    last = first + len(text)
    inside = [chunk for chunk in chunks if chunk.start < last and chunk.end > first]
    borders = {first, last}
    for chunk in inside:
        borders |= {max(chunk.start, first), min(chunk.end, last)}
    return [
        TextPiece(
            text[start - first : end - first],
            tuple(chunk for chunk in inside if chunk.start <= start and chunk.end >= end),
            tuple(chunk for chunk in inside if chunk.start == start),
        )
        for start, end in pairwise(sorted(borders))
    ]
