"""Cut runs into atoms, no finer than the passage size requires."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from documents.chunking import table_text
from documents.chunking.sections import Run
from documents.chunking.sizes import CountTokens, Sizes
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

MANY_SENTENCES = 10_000
SHORT_SENTENCE = 24  # characters
MAX_WRAPPED_LINE = 140  # characters; longer lines are separate paragraphs
FRAGMENTS_PER_PASSAGE = 8  # a huge sentence is cut this small, so that passages fill well


def _sentences(text: str, start: int, end: int) -> list[Span]:
    spans = [(start + first, start + last) for first, last in sentence_spans(text[start:end])]
    return spans if len(spans) < MANY_SENTENCES else _short_ones_joined(spans)


def _short_ones_joined(spans: Sequence[Span]) -> list[Span]:
    """Join short sentences to the next one: 5 MB of "Ok!" would otherwise be a million atoms."""
    joined = [spans[0]]
    for start, end in spans[1:]:
        if joined[-1][1] - joined[-1][0] < SHORT_SENTENCE:
            joined[-1] = (joined[-1][0], end)
        else:
            joined.append((start, end))
    return joined


# Ways to cut a block, best first; the next one is tried on parts that are still too large. For
# prose, lines come last: in hard-wrapped text a line ends in the middle of a sentence.
WAYS: Mapping[BlockKind, tuple[Callable[[str, int, int], list[Span]], ...]] = {
    "heading": (line_spans,),
    "text": (_sentences, line_spans),
    "list": (item_spans, paragraph_spans, _sentences, line_spans),
    "code": (line_spans,),
    "table": (line_spans,),
}


@dataclass(frozen=True, slots=True)
class Atom:
    """A span of a block that is never split: a heading, a sentence, a list item, a line, or a
    fragment of one that was too long."""

    start: int
    end: int
    unit: int = 0  # index of its paragraph, list or group of code lines
    kind: BlockKind = "text"  # of the block it comes from
    ways_used: int = 0  # how many of WAYS were tried to cut it from the block
    tokens: int = 0  # 0 until counted

    @property
    def is_heading(self) -> bool:
        return self.kind == "heading"

    @property
    def is_whole(self) -> bool:
        """Whether this is at least a sentence. Only whole atoms may be repeated in an overlap."""
        return self.ways_used < len(WAYS[self.kind])

    def counted(self, tokens: int) -> "Atom":
        return Atom(self.start, self.end, self.unit, self.kind, self.ways_used, tokens)

    def cut_into(self, spans: Sequence[Span], *, ways_used: int) -> "Iterator[Atom]":
        return (Atom(start, end, self.unit, self.kind, ways_used) for start, end in spans)


class AtomCutter:
    """Cuts runs into atoms, counting the tokens of all runs in one batch per round.

    Most texts need a single round.
    """

    def __init__(
        self, count_tokens: CountTokens, *, sizes: Sizes, keeps_rows: bool = False
    ) -> None:
        self.count_tokens = count_tokens
        self.sizes = sizes
        self.keeps_rows = keeps_rows  # keep table rows, and headers with their rule, together

    def cut(self, text: str, runs: Sequence[Run]) -> list[list[Atom]]:
        """Return the atoms of each run, in order, none larger than the target size."""
        atoms_by_run: list[list[Atom]] = [[] for _ in runs]
        first_cut = _row_atoms if self.keeps_rows else _atoms
        pending = [
            (number, atom) for number, run in enumerate(runs) for atom in first_cut(text, run)
        ]
        while pending:
            smaller: list[tuple[int, Atom]] = []
            counts = self.measure(text, ((atom.start, atom.end) for _, atom in pending))
            for (number, atom), tokens in zip(pending, counts, strict=True):
                is_kept = tokens <= self.sizes.size or atom.end - atom.start == 1
                if is_kept or self._is_readable_row(text, atom):
                    atoms_by_run[number].append(atom.counted(int(tokens)))
                else:
                    smaller.extend((number, part) for part in self._smaller(text, atom, tokens))
            pending = smaller
        return [sorted(atoms, key=lambda atom: atom.start) for atoms in atoms_by_run]

    def _is_readable_row(self, text: str, atom: Atom) -> bool:
        """Whether this is a table row that fits the model once links and markup are removed."""
        is_row = self.keeps_rows and atom.kind == "table" and atom.ways_used == 1
        if not is_row or atom.end - atom.start > self.sizes.characters:
            return False
        (tokens,) = self.count_tokens([table_text.plain(text[atom.start : atom.end])])
        return tokens <= self.sizes.limit

    def measure(self, text: str, spans: Iterable[Span]) -> list[float]:
        """Return the tokens of each span, or infinity (without counting) if it has too many
        characters."""
        texts = [text[start:end] for start, end in spans]
        countable = [each for each in texts if len(each) <= self.sizes.characters]
        counts = iter(self.count_tokens(countable))
        return [next(counts) if len(each) <= self.sizes.characters else math.inf for each in texts]

    def _smaller(self, text: str, atom: Atom, tokens: float) -> Iterator[Atom]:
        ways = WAYS[atom.kind]
        for used, way in enumerate(ways[atom.ways_used :], start=atom.ways_used + 1):
            spans = way(text, atom.start, atom.end)
            if len(spans) > 1:
                return atom.cut_into(spans, ways_used=used)
        return atom.cut_into(self._fragments(text, atom, tokens), ways_used=len(ways) + 1)

    def _fragments(self, text: str, atom: Atom, tokens: float) -> list[Span]:
        """Cut into groups of words, or groups of characters if it is a single huge word."""
        passage = self.sizes.characters
        if math.isfinite(tokens):
            passage = int((atom.end - atom.start) * self.sizes.size / tokens)
        length = max(1, passage // FRAGMENTS_PER_PASSAGE)
        words = word_spans(text, atom.start, atom.end, length=length)
        if len(words) > 1:
            return words
        return character_spans(text, atom.start, atom.end, length=length)


def _atoms(text: str, run: Run) -> Iterator[Atom]:
    """Make the first cut: headings whole, text by sentences, lists by items, code by lines."""
    if run.kind != "text":
        for unit, group in enumerate(paragraph_spans(text, run.start, run.end)):
            lines = line_spans(text, *group)
            yield from Atom(*group, unit, run.kind).cut_into(lines, ways_used=1)
        return
    paragraphs = ((block.kind, span) for block in run.blocks for span in _paragraphs(text, block))
    for unit, (kind, span) in enumerate(paragraphs):
        whole = Atom(*span, unit, kind)
        if kind == "heading":
            yield whole
        else:
            yield from whole.cut_into(WAYS[kind][0](text, *span), ways_used=1)


def _row_atoms(text: str, run: Run) -> Iterator[Atom]:
    """Like `_atoms`, but cut tables by rows; the first row is the whole header."""
    if run.kind != "table":
        yield from _atoms(text, run)
        return
    for unit, block in enumerate(run.blocks):
        spans = [(block.start, block.end)]
        if block.kind == "table":
            spans = table_text.row_spans(text, block)
        for span in spans:
            yield Atom(*span, unit, block.kind, ways_used=int(block.kind == "table"))


def _paragraphs(text: str, block: Block) -> list[Span]:
    """Return the block itself, or its lines if they are too long to be hard-wrapped."""
    whole = block.start, block.end
    if block.kind != "text":
        return [whole]
    lines = line_spans(text, *whole)
    is_wrapped = all(end - start <= MAX_WRAPPED_LINE for start, end in lines)
    return [whole] if is_wrapped else lines
