"""Chunks whose ends are turns of meaning: cut where one sentence's vector is far from the next."""

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise

from documents.chunking.atoms import Atom
from documents.chunking.base import Splitter
from documents.chunking.packing import TINY, Draft, Packer
from documents.chunking.sections import Run
from documents.chunking.sizes import CountTokens, Sizes, token_sizes

EmbedTexts = Callable[[Sequence[str]], Iterable[Sequence[Sequence[float]]]]

PRECISION = 4  # decimals of a distance that count: below is noise of the arithmetic


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
        of_runs = self.cutter.cut(text, runs)
        distances = self._distances(text, of_runs)
        far = self._far([turn for of_run in distances for turn in of_run])
        for run, atoms, turns in zip(runs, of_runs, distances, strict=True):
            yield TurnPacker(run, atoms, sizes=self.sizes, turns=turns, far=far).pack()

    def _distances(self, text: str, of_runs: Sequence[Sequence[Atom]]) -> list[list[float]]:
        """From each sentence to the next one of its run; a lone sentence need not be embedded."""
        texts = [
            text[atom.start : atom.end] for atoms in of_runs if len(atoms) > 1 for atom in atoms
        ]
        vectors = (vector for batch in self.embed(texts) for vector in batch)
        distances = []
        for atoms in of_runs:
            own = [next(vectors) for _ in atoms] if len(atoms) > 1 else []
            distances.append([_distance(one, other) for one, other in pairwise(own)])
        return distances

    def _far(self, distances: list[float]) -> float:
        if not distances:
            return 0.0
        return sorted(distances)[(len(distances) - 1) * self.percentile // 100]


class TurnPacker(Packer):
    """Goes forward through one run: ends a passage at the first far turn, or the widest in reach.

    Neither leaves a tiny passage, unless there is no other place to cut.
    """

    def __init__(
        self, run: Run, atoms: Sequence[Atom], *, sizes: Sizes, turns: Sequence[float], far: float
    ) -> None:
        super().__init__(run, atoms, sizes=sizes)
        self.turns = turns  # turns[i] lies between atom i and atom i + 1
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
