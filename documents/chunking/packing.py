"""From atoms to drafts of passages: greedy, forward only, so that a later edit moves nothing."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, groupby

TINY = 5  # a fifth of the target size: too little to stand alone


@dataclass(frozen=True, slots=True)
class Atom:
    """A piece of text that is not cut further: a heading, sentence, line, or part of a huge one."""

    start: int
    end: int
    tokens: int
    unit: int  # the paragraph, list or group of code lines it belongs to
    is_heading: bool = False
    is_whole: bool = True  # False for a part of a sentence: it is no good as an overlap


@dataclass(frozen=True, slots=True)
class Draft:
    """A passage as a range of atoms: `lead` to `first` repeats the passage before it."""

    lead: int
    first: int
    stop: int


@dataclass(frozen=True, slots=True)
class Sizes:
    """`size`, `overlap` and `limit` are tokens: aimed at, repeated at most, and never exceeded."""

    size: int
    overlap: int
    limit: int
    characters: int  # of a passage at most: one token can be a very long word


class Packer:
    """Packs the atoms of one run."""

    def __init__(self, atoms: Sequence[Atom], *, sizes: Sizes) -> None:
        self.atoms = atoms
        self.sizes = sizes
        self.tokens_before = [0, *accumulate(atom.tokens for atom in atoms)]

    def pack(self) -> list[Draft]:
        drafts = []
        draft = Draft(0, 0, 0)
        for unit_stop in self._unit_stops():
            while draft.stop < unit_stop:
                stop = self._reach(draft, unit_stop)
                if stop == draft.stop:
                    drafts.append(draft)
                    draft = self._next_draft(draft, unit_stop)
                else:
                    draft = Draft(draft.lead, draft.first, stop)
        return self._without_tiny_end([*drafts, draft])

    def _unit_stops(self) -> Iterator[int]:
        stop = 0
        for _, atoms in groupby(self.atoms, key=lambda atom: atom.unit):
            stop += sum(1 for _ in atoms)
            yield stop

    def _reach(self, draft: Draft, unit_stop: int) -> int:
        """How far the draft may grow into the next unit; its own stop if not at all."""
        sizes = self.sizes
        if self._fits(draft.lead, unit_stop, sizes.size):
            return unit_stop
        is_new = draft.first == draft.stop
        is_thin = not is_new and self._is_thin(draft)
        must_be_cut = not self._fits(draft.stop, unit_stop, sizes.size)
        if is_thin and not must_be_cut and self._fits(draft.lead, unit_stop, sizes.limit):
            return unit_stop
        half_empty = 2 * self._tokens(draft.first, draft.stop) < sizes.size
        if not (is_new or is_thin or (must_be_cut and half_empty)):
            return draft.stop
        stop = draft.stop
        while stop < unit_stop and self._fits(draft.lead, stop + 1, sizes.size):
            stop += 1
        if stop == draft.stop and (
            is_new or (is_thin and self._fits(draft.lead, stop + 1, sizes.limit))
        ):
            stop += 1
        return stop

    def _is_thin(self, draft: Draft) -> bool:
        """Too little to stand alone, or bare headings before their text: better filled up."""
        last, coming = self.atoms[draft.stop - 1], self.atoms[draft.stop]
        is_tiny = self._tokens(draft.first, draft.stop) * TINY < self.sizes.size
        return is_tiny or (last.is_heading and not coming.is_heading)

    def _next_draft(self, draft: Draft, unit_stop: int) -> Draft:
        """An empty draft that repeats the last whole sentences, if what comes next leaves room."""
        first = lead = draft.stop
        if not self.sizes.overlap or self.atoms[first].is_heading:
            return Draft(first, first, first)
        coming = unit_stop if self._fits(first, unit_stop, self.sizes.size) else first + 1
        # Never back to the draft's first: starts must increase even if its own overlap is dropped.
        while lead - 1 > draft.first and self._may_repeat(lead - 1, first, coming):
            lead -= 1
        return Draft(lead, first, first)

    def _may_repeat(self, lead: int, first: int, coming: int) -> bool:
        atom = self.atoms[lead]
        if atom.is_heading or not atom.is_whole:
            return False
        is_short = self._tokens(lead, first) <= self.sizes.overlap
        return is_short and self._fits(lead, coming, self.sizes.size)

    def _without_tiny_end(self, drafts: list[Draft]) -> list[Draft]:
        if len(drafts) < 2:
            return drafts
        *others, before, last = drafts
        is_tiny = self._tokens(last.first, last.stop) * TINY < self.sizes.size
        if is_tiny and self._fits(before.lead, last.stop, self.sizes.limit):
            return [*others, Draft(before.lead, before.first, last.stop)]
        return drafts

    def _tokens(self, first: int, stop: int) -> int:
        return self.tokens_before[stop] - self.tokens_before[first]

    def _fits(self, first: int, stop: int, tokens: int) -> bool:
        length = self.atoms[stop - 1].end - self.atoms[first].start
        return self._tokens(first, stop) <= tokens and length <= self.sizes.characters
