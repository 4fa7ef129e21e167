"""Chunks that end where the meaning changes: where adjacent sentences have distant vectors."""

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise

from documents.chunking.atoms import Atom
from documents.chunking.base import Splitter
from documents.chunking.packing import TINY, Draft, Packer
from documents.chunking.sections import Run
from documents.chunking.sizes import CountTokens, Sizes, token_sizes

EmbedTexts = Callable[[Sequence[str]], Iterable[Sequence[Sequence[float]]]]

PRECISION = 4  # decimals of a distance; the rest is floating-point noise


class SemanticSplitter(Splitter):
    """Cuts a run where the distance is above the document's `percentile`, then down to `size`."""

    def __init__(
        self,
        count_tokens: CountTokens,
        embed: EmbedTexts,
        *,
        size: int,
        limit: int,
        percentile: int = 90,
    ) -> None:
        if not 0 < percentile < 100:
            raise ValueError(f"percentile must be from 1 to 99, not {percentile}")
        super().__init__(count_tokens, sizes=token_sizes(size, overlap=0, limit=limit))
        self.embed = embed
        self.percentile = percentile

    def draft(self, text: str, runs: Sequence[Run]) -> Iterable[list[Draft]]:
        atoms_by_run = self.cutter.cut(text, runs)
        distances = self._distances(text, atoms_by_run)
        far = self._far([turn for turns in distances for turn in turns])
        for run, atoms, turns in zip(runs, atoms_by_run, distances, strict=True):
            yield TurnPacker(run, atoms, sizes=self.sizes, turns=turns, far=far).pack()

    def _distances(self, text: str, atoms_by_run: Sequence[Sequence[Atom]]) -> list[list[float]]:
        """Return the distance from each sentence to the next in its run.

        A run of one sentence is not embedded.
        """
        texts = [
            text[atom.start : atom.end]
            for atoms in atoms_by_run
            if len(atoms) > 1
            for atom in atoms
        ]
        vectors = (vector for batch in self.embed(texts) for vector in batch)
        distances = []
        for atoms in atoms_by_run:
            run_vectors = [next(vectors) for _ in atoms] if len(atoms) > 1 else []
            distances.append([_distance(one, other) for one, other in pairwise(run_vectors)])
        return distances

    def _far(self, distances: list[float]) -> float:
        if not distances:
            return 0.0
        return sorted(distances)[(len(distances) - 1) * self.percentile // 100]


class TurnPacker(Packer):
    """Ends each passage at the first distance above `far`, or at the largest one within reach.

    Leaves no tiny passage unless there is no other place to cut.
    """

    def __init__(
        self, run: Run, atoms: Sequence[Atom], *, sizes: Sizes, turns: Sequence[float], far: float
    ) -> None:
        super().__init__(run, atoms, sizes=sizes)
        self.turns = turns  # turns[i] is the distance between atom i and atom i + 1
        self.far = far

    def pack(self) -> list[Draft]:
        drafts: list[Draft] = []
        first = 0
        while first < len(self.atoms):
            stop = self._stop(first)
            drafts.append(self._draft(first, first, stop))
            first = stop
        return self._without_tiny_end(drafts)

    def _stop(self, first: int) -> int:
        end = len(self.atoms)
        reach = first + 1
        while reach < end and self._fits(first, reach + 1, self.sizes.size):
            reach += 1
        places = [place for place in range(first + 1, reach + 1) if self._may_cut(first, place)]
        for place in places:
            if self.turns[place - 1] > self.far:
                return place
        if reach == end:
            return end
        return max(places, key=lambda place: (self.turns[place - 1], place), default=reach)

    def _may_cut(self, first: int, place: int) -> bool:
        if place == len(self.atoms) or self.atoms[place - 1].is_heading:
            return False
        return self._tokens(first, place) * TINY >= self.sizes.size


def _distance(one: Sequence[float], other: Sequence[float]) -> float:
    return round(1 - sum(a * b for a, b in zip(one, other, strict=True)), PRECISION)
