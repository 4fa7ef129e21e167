"""Chunks of a fixed number of characters with overlap, ignoring paragraphs."""

from collections.abc import Iterable, Sequence

from documents.chunking.atoms import Atom
from documents.chunking.base import Splitter
from documents.chunking.packing import Draft
from documents.chunking.sections import Run
from documents.chunking.sizes import CountTokens, token_sizes
from documents.text.boundaries import Span, character_spans, word_spans

GRAINS_PER_CHUNK = 40  # precision of a window's edges, which fall between words
MAX_WORD_DIVISOR = 8  # longer words than the token limit divided by this are cut


class FixedSplitter(Splitter):
    """Windows of up to `size` characters, each overlapping the previous one by up to `overlap`.

    Windows end at headings and pages, and are smaller if the model cannot read `size` characters.
    """

    def __init__(self, count_tokens: CountTokens, *, size: int, overlap: int, limit: int) -> None:
        if size < 1 or not 0 <= overlap < size / 2:
            raise ValueError(
                f"overlap must be from 0 to less than half of {size} characters, not {overlap}"
            )
        super().__init__(count_tokens, sizes=token_sizes(limit, overlap=0, limit=limit))
        self.characters = min(size, self.sizes.characters)
        self.max_grain = max(1, min(size, limit // MAX_WORD_DIVISOR))
        self.overlap = overlap

    def draft(self, text: str, runs: Sequence[Run]) -> Iterable[list[Draft]]:
        for run in runs:
            atoms = [Atom(*span) for span in self._grains(text, run)]
            body = max((b.end for b in run.blocks if b.kind == "heading"), default=run.start)
            yield self._windows(run, atoms, body)

    def _grains(self, text: str, run: Run) -> list[Span]:
        length = min(self.max_grain, max(1, self.characters // GRAINS_PER_CHUNK))
        words = [
            part
            for span in word_spans(text, run.start, run.end, length=length)
            for part in character_spans(text, *span, length=self.max_grain)
        ]
        return [grain for word in words for grain in self._readable(text, word)]

    def _readable(self, text: str, span: Span) -> list[Span]:
        """Split a grapheme into code points if it alone has too many tokens for the model."""
        start, end = span
        if end - start <= self.max_grain:
            return [span]
        (tokens,) = self.count_tokens([text[start:end]])
        is_readable = tokens <= self.sizes.limit
        return (
            [span] if is_readable else [(position, position + 1) for position in range(start, end)]
        )

    def _windows(self, run: Run, atoms: Sequence[Atom], body: int) -> list[Draft]:
        """Headings end where the body begins, and are never repeated."""
        windows: list[Draft] = []
        lead = first = 0
        for stop in range(1, len(atoms) + 1):
            is_last = stop == len(atoms)
            if not is_last and atoms[stop].end - atoms[lead].start <= self.characters:
                continue
            windows.append(Draft(run, atoms, lead, first, stop))
            lead = self._lead(windows[-1], body)
            first = stop
        return windows

    def _lead(self, before: Draft, body: int) -> int:
        """Return where the next window starts, leaving room in it for new text."""
        atoms = before.atoms
        lead = end = before.stop
        if end == len(atoms):
            return end
        room = self.characters
        while lead - 1 > before.first:
            start = atoms[lead - 1].start
            is_long = atoms[end - 1].end - start > self.overlap or atoms[end].end - start > room
            if is_long or start < body:
                break
            lead -= 1
        return lead
