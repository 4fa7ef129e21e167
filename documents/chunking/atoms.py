"""From runs to atoms: cut each text only as finely as the passage size demands."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from documents.chunking import table_text
from documents.chunking.packing import Atom, Sizes
from documents.chunking.sections import Run
from documents.passages import Block, BlockKind
from documents.text.boundaries import (
    Span,
    character_spans,
    item_spans,
    line_spans,
    paragraph_spans,
    word_spans,
)
from documents.text.sentences import sentence_spans

CountTokens = Callable[[Sequence[str]], list[int]]

MANY_SENTENCES = 10_000
SHORT_SENTENCE = 24  # characters
MAX_WRAPPED_LINE = 140  # characters; a longer one is a paragraph of its own
FRAGMENTS_PER_PASSAGE = 8  # parts of a huge sentence are this small so that passages fill well


def _sentences(text: str, start: int, end: int) -> list[Span]:
    spans = [(start + first, start + last) for first, last in sentence_spans(text[start:end])]
    return spans if len(spans) < MANY_SENTENCES else _short_ones_joined(spans)


def _short_ones_joined(spans: Sequence[Span]) -> list[Span]:
    """Five megabytes of "Ok!" in one paragraph would be a million atoms."""
    joined = [spans[0]]
    for start, end in spans[1:]:
        if joined[-1][1] - joined[-1][0] < SHORT_SENTENCE:
            joined[-1] = (joined[-1][0], end)
        else:
            joined.append((start, end))
    return joined


# The ways to cut a block, best first; the next one is tried on what is still too large. Lines come
# last in prose: where they are wrapped by hand, their ends are the middle of a sentence.
WAYS: Mapping[BlockKind, tuple[Callable[[str, int, int], list[Span]], ...]] = {
    "heading": (line_spans,),
    "text": (_sentences, line_spans),
    "list": (item_spans, paragraph_spans, _sentences, line_spans),
    "code": (line_spans,),
    "table": (line_spans,),
}


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a block on its way to being an atom."""

    start: int
    end: int
    run: int
    unit: int
    kind: BlockKind
    ways_used: int = 0

    @property
    def is_whole(self) -> bool:
        """Whether it is at least a sentence, not a line or some words: only then it is repeated."""
        return self.ways_used < len(WAYS[self.kind])


class AtomCutter:
    """Counts tokens in one batch per round, for all runs together; most texts need one round."""

    def __init__(
        self, count_tokens: CountTokens, *, sizes: Sizes, keeps_rows: bool = False
    ) -> None:
        self.count_tokens = count_tokens
        self.sizes = sizes
        self.keeps_rows = keeps_rows  # of tables, and headers with the rule below them

    def cut(self, text: str, runs: Sequence[Run]) -> list[list[Atom]]:
        """The atoms of each run, in order, none above the target size."""
        atoms: list[list[Atom]] = [[] for _ in runs]
        cut = _row_pieces if self.keeps_rows else _pieces
        pieces = [piece for number, run in enumerate(runs) for piece in cut(text, run, number)]
        while pieces:
            too_large: list[Piece] = []
            counts = self.measure(text, ((piece.start, piece.end) for piece in pieces))
            for piece, tokens in zip(pieces, counts, strict=True):
                is_kept = tokens <= self.sizes.size or piece.end - piece.start == 1
                if is_kept or self._is_readable_row(text, piece):
                    atoms[piece.run].append(_atom(piece, int(tokens)))
                else:
                    too_large.extend(self._smaller(text, piece, tokens))
            pieces = too_large
        return [sorted(of_run, key=lambda atom: atom.start) for of_run in atoms]

    def _is_readable_row(self, text: str, piece: Piece) -> bool:
        """A row that the model reads whole once links and markup are left out."""
        is_row = self.keeps_rows and piece.kind == "table" and piece.ways_used == 1
        if not is_row or piece.end - piece.start > self.sizes.characters:
            return False
        (tokens,) = self.count_tokens([table_text.plain(text[piece.start : piece.end])])
        return tokens <= self.sizes.limit

    def measure(self, text: str, spans: Iterable[Span]) -> list[float]:
        """Tokens of each span; infinite, and not worth counting, where it is too long anyway."""
        pieces = [text[start:end] for start, end in spans]
        countable = [piece for piece in pieces if len(piece) <= self.sizes.characters]
        counts = iter(self.count_tokens(countable))
        return [
            next(counts) if len(piece) <= self.sizes.characters else math.inf for piece in pieces
        ]

    def _smaller(self, text: str, piece: Piece, tokens: float) -> Iterator[Piece]:
        ways = WAYS[piece.kind]
        for used, way in enumerate(ways[piece.ways_used :], start=piece.ways_used + 1):
            spans = way(text, piece.start, piece.end)
            if len(spans) > 1:
                return _children(piece, spans, ways_used=used)
        return _children(piece, self._fragments(text, piece, tokens), ways_used=len(ways) + 1)

    def _fragments(self, text: str, piece: Piece, tokens: float) -> list[Span]:
        """Runs of words; or, of a single huge word, runs of characters."""
        passage = self.sizes.characters
        if math.isfinite(tokens):
            passage = int((piece.end - piece.start) * self.sizes.size / tokens)
        length = max(1, passage // FRAGMENTS_PER_PASSAGE)
        words = word_spans(text, piece.start, piece.end, length=length)
        if len(words) > 1:
            return words
        return character_spans(text, piece.start, piece.end, length=length)


def _pieces(text: str, run: Run, number: int) -> Iterator[Piece]:
    """A run at its first cut: headings whole, text by sentences, lists by items, code by lines."""
    if run.kind != "text":
        for unit, group in enumerate(paragraph_spans(text, run.start, run.end)):
            piece = Piece(*group, number, unit, run.kind)
            yield from _children(piece, line_spans(text, *group), ways_used=1)
        return
    paragraphs = ((block.kind, span) for block in run.blocks for span in _paragraphs(text, block))
    for unit, (kind, span) in enumerate(paragraphs):
        piece = Piece(*span, number, unit, kind)
        if kind == "heading":
            yield piece
        else:
            yield from _children(piece, WAYS[kind][0](text, *span), ways_used=1)


def _row_pieces(text: str, run: Run, number: int) -> Iterator[Piece]:
    """The same, with a table by its rows, the first of which is all of its header."""
    if run.kind != "table":
        yield from _pieces(text, run, number)
        return
    for unit, block in enumerate(run.blocks):
        spans = [(block.start, block.end)]
        if block.kind == "table":
            spans = table_text.row_spans(text, block)
        for span in spans:
            yield Piece(*span, number, unit, block.kind, ways_used=int(block.kind == "table"))


def _paragraphs(text: str, block: Block) -> list[Span]:
    """Usually the block itself; its lines, where they are too long to be wrapped by hand."""
    whole = block.start, block.end
    if block.kind != "text":
        return [whole]
    lines = line_spans(text, *whole)
    is_wrapped = all(end - start <= MAX_WRAPPED_LINE for start, end in lines)
    return [whole] if is_wrapped else lines


def _children(parent: Piece, spans: Sequence[Span], *, ways_used: int) -> Iterator[Piece]:
    for start, end in spans:
        yield Piece(start, end, parent.run, parent.unit, parent.kind, ways_used)


def _atom(piece: Piece, tokens: int) -> Atom:
    return Atom(
        piece.start,
        piece.end,
        tokens=tokens,
        unit=piece.unit,
        is_heading=piece.kind == "heading",
        is_whole=piece.is_whole,
    )
