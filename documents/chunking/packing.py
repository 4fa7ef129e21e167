"""Pack atoms into drafts, greedily and forward only, so that an edit moves no earlier cut."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, groupby

from documents.chunking.atoms import Atom
from documents.chunking.sections import Run
from documents.chunking.sizes import Sizes
from documents.text.boundaries import Span

TINY = 5  # drafts below the target size divided by this are too small
UNCOUNTED = -1


@dataclass(frozen=True, slots=True)
class Draft:
    """A passage in progress: a range of a run's atoms, and its token count once known.

    `lead` to `first` repeats the end of the previous draft; `first` to `stop` is new.
    """

    run: Run
    atoms: Sequence[Atom]
    lead: int
    first: int
    stop: int
    tokens: int = UNCOUNTED

    @classmethod
    def whole(cls, run: Run, tokens: int) -> "Draft":
        """Make a draft of the whole run."""
        return cls(run, (Atom(run.start, run.end, tokens=tokens),), 0, 0, 1, tokens)

    @property
    def span(self) -> Span:
        return self.atoms[self.lead].start, self.atoms[self.stop - 1].end

    @property
    def repeated(self) -> Span:
        return self.atoms[self.lead].start, self.atoms[self.first - 1].end

    @property
    def repeats(self) -> bool:
        return self.lead < self.first

    @property
    def is_divisible(self) -> bool:
        return self.repeats or self.stop - self.first > 1

    def up_to(self, stop: int) -> "Draft":
        return replace(self, stop=stop)

    def without_overlap(self) -> "Draft":
        return replace(self, lead=self.first, tokens=UNCOUNTED) if self.repeats else self

    def halves(self) -> "tuple[Draft, Draft]":
        first, stop = self.first, self.stop
        middle = (first + stop) // 2
        head = Draft(self.run, self.atoms, first, first, middle)
        return head, Draft(self.run, self.atoms, middle, middle, stop)


class Packer:
    """Packs the atoms of one run."""

    def __init__(self, run: Run, atoms: Sequence[Atom], *, sizes: Sizes) -> None:
        self.run = run
        self.atoms = atoms
        self.sizes = sizes
        self.tokens_before = [0, *accumulate(atom.tokens for atom in atoms)]

    def pack(self) -> list[Draft]:
        drafts = []
        draft = self._draft(0, 0, 0)
        for unit_stop in self._unit_stops():
            while draft.stop < unit_stop:
                stop = self._reach(draft, unit_stop)
                if stop == draft.stop:
                    drafts.append(draft)
                    draft = self._next_draft(draft, unit_stop)
                else:
                    draft = draft.up_to(stop)
        return self._without_tiny_end([*drafts, draft])

    def _draft(self, lead: int, first: int, stop: int) -> Draft:
        return Draft(self.run, self.atoms, lead, first, stop)

    def _unit_stops(self) -> Iterator[int]:
        stop = 0
        for _, atoms in groupby(self.atoms, key=lambda atom: atom.unit):
            stop += sum(1 for _ in atoms)
            yield stop

    def _reach(self, draft: Draft, unit_stop: int) -> int:
        """Return how far the draft may grow into the next unit; its current stop if not at all."""
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
        """Whether the draft needs more text: it is tiny, or ends in headings without their text."""
        last, following = self.atoms[draft.stop - 1], self.atoms[draft.stop]
        is_tiny = self._tokens(draft.first, draft.stop) * TINY < self.sizes.size
        return is_tiny or (last.is_heading and not following.is_heading)

    def _next_draft(self, draft: Draft, unit_stop: int) -> Draft:
        """Return an empty draft that repeats the last whole sentences, if there is room for
        them."""
        first = lead = draft.stop
        if not self.sizes.overlap or self.atoms[first].is_heading:
            return self._draft(first, first, first)
        coming = unit_stop if self._fits(first, unit_stop, self.sizes.size) else first + 1
        # Never go back to the draft's first atom: starts must increase even if its overlap is
        # dropped.
        while lead - 1 > draft.first and self._may_repeat(lead - 1, first, coming):
            lead -= 1
        return self._draft(lead, first, first)

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
            return [*others, before.up_to(last.stop)]
        return drafts

    def _tokens(self, first: int, stop: int) -> int:
        return self.tokens_before[stop] - self.tokens_before[first]

    def _fits(self, first: int, stop: int, tokens: int) -> bool:
        length = self.atoms[stop - 1].end - self.atoms[first].start
        return self._tokens(first, stop) <= tokens and length <= self.sizes.characters
