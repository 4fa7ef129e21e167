"""From a text and its blocks to passages: heading-bounded, exact, never more than a model reads."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby
from typing import Any

from documents.chunking.atoms import AtomCutter, CountTokens
from documents.chunking.grouping import common_path, group
from documents.chunking.packing import Atom, Draft, Packer, Sizes
from documents.chunking.sections import Run, outline
from documents.chunking.table_passages import readable_tables
from documents.passages import Extracted, Passage
from documents.text.boundaries import Span

CHARACTERS_PER_TOKEN = 12  # at most, on average; so that no passage is one endless word
UNCOUNTED = -1


@dataclass(frozen=True, slots=True)
class Cut:
    """A draft with the atoms it is made of, and its exact tokens once they are counted."""

    run: Run
    atoms: Sequence[Atom]
    draft: Draft
    tokens: int = UNCOUNTED

    @property
    def span(self) -> Span:
        return self.atoms[self.draft.lead].start, self.atoms[self.draft.stop - 1].end

    @property
    def repeated(self) -> Span:
        return self.atoms[self.draft.lead].start, self.atoms[self.draft.first - 1].end

    @property
    def repeats(self) -> bool:
        return self.draft.lead < self.draft.first

    def without_overlap(self) -> "Cut":
        draft = replace(self.draft, lead=self.draft.first)
        return replace(self, draft=draft, tokens=UNCOUNTED) if self.repeats else self

    def halves(self) -> tuple["Cut", "Cut"]:
        first, stop = self.draft.first, self.draft.stop
        middle = (first + stop) // 2
        head, tail = Draft(first, first, middle), Draft(middle, middle, stop)
        return Cut(self.run, self.atoms, head), Cut(self.run, self.atoms, tail)


class Splitter(ABC):
    """What every way of chunking shares; each says only where running text is cut.

    Code and tables stay whole up to `limit`, and are cut at line ends beyond it.
    """

    warnings: tuple[str, ...] = ()  # about the last split, for the document's own

    def __init__(
        self, count_tokens: CountTokens, *, sizes: Sizes, keeps_together: bool = False
    ) -> None:
        if not 0 < sizes.size <= sizes.limit:
            message = f"size must be from 1 to the limit of {sizes.limit} tokens, not {sizes.size}"
            raise ValueError(message)
        if not 0 <= sizes.overlap < sizes.size / 2:
            message = f"overlap must be from 0 to less than half of {sizes.size}"
            raise ValueError(f"{message}, not {sizes.overlap}")
        self.count_tokens = count_tokens
        self.sizes = sizes
        self.keeps_together = keeps_together  # since ingestion version 2 (grouping.py)
        self.cutter = AtomCutter(count_tokens, sizes=sizes, keeps_rows=keeps_together)

    @abstractmethod
    def draft(self, text: str, runs: Sequence[Run]) -> Iterable[list[Cut]]:
        """The cuts of each run of text, in order; what turns out too large is halved later."""

    def split(self, extracted: Extracted) -> list[Passage]:
        text = extracted.text
        cuts = self._drafted(text, list(outline(extracted)))
        cuts = self._within_limit(text, self._counted(text, cuts))
        by_run = groupby(cuts, key=lambda cut: cut.run)
        passages = [passage for _, of_run in by_run for passage in _passages(text, list(of_run))]
        if self.keeps_together:
            return readable_tables(
                extracted, passages, count_tokens=self.count_tokens, limit=self.sizes.limit
            )
        return passages

    def _drafted(self, text: str, runs: Sequence[Run]) -> list[Cut]:
        items = self._grouped(text, runs) if self.keeps_together else self._keep_whole(text, runs)
        to_cut = [item for item in items if isinstance(item, Run)]
        prose = iter(self.draft(text, [run for run in to_cut if run.kind == "text"]))
        solid = iter(self.packed(text, [run for run in to_cut if run.kind != "text"]))
        cuts: list[Cut] = []
        for item in items:
            if isinstance(item, Cut):
                cuts.append(item)
            else:
                cuts.extend(next(prose if item.kind == "text" else solid))
        return cuts

    def packed(self, text: str, runs: Sequence[Run]) -> Iterator[list[Cut]]:
        """Whole paragraphs, or whole groups of lines, up to the size."""
        for run, atoms in zip(runs, self.cutter.cut(text, runs), strict=True):
            yield [Cut(run, atoms, draft) for draft in Packer(atoms, sizes=self.sizes).pack()]

    def _grouped(self, text: str, runs: Sequence[Run]) -> list[Run | Cut]:
        groups = group(runs, partial(self.cutter.measure, text), size=self.sizes.size)
        return [_whole(each.run, each.tokens) if each.is_whole else each.run for each in groups]

    def _keep_whole(self, text: str, runs: Sequence[Run]) -> list[Run | Cut]:
        """Code and tables become cuts where they fit the limit; other runs are left to pack.

        A bare heading, or a caption, goes with the code below it. Only where the code alone would
        fit and the two together do not are they apart; where it is cut anyway, its first part
        begins with them. A heading with an introduction is a passage of text.
        """
        solid = [run for run in runs if run.kind != "text"]
        counts = iter(self.cutter.measure(text, [(run.start, run.end) for run in solid]))
        items: list[Run | Cut] = []
        for run in runs:
            if run.kind == "text":
                items.append(run)
            elif (tokens := next(counts)) <= self.sizes.limit:
                items.append(_whole(run, tokens))
            else:
                items.extend(self._head_apart(text, run))
        return items

    def _head_apart(self, text: str, run: Run) -> tuple[Run | Cut, ...]:
        head, body = run.head_and_body()
        (tokens,) = self.cutter.measure(text, [(body.start, body.end)])
        if head.members and tokens <= self.sizes.limit:
            return head, _whole(body, tokens)
        return (run,)

    def _counted(self, text: str, cuts: Sequence[Cut]) -> list[Cut]:
        texts = [text[slice(*cut.span)] for cut in cuts if cut.tokens == UNCOUNTED]
        counts = iter(self.count_tokens(texts))
        return [
            replace(cut, tokens=next(counts)) if cut.tokens == UNCOUNTED else cut for cut in cuts
        ]

    def _within_limit(self, text: str, cuts: list[Cut]) -> list[Cut]:
        """Atoms together may count more than one by one: then the cut is halved, and recounted."""
        while any(map(self._is_too_large, cuts)):
            smaller: list[Cut] = []
            after_halves = False
            for cut in cuts:
                too_large = self._is_too_large(cut)
                halve = too_large and not cut.repeats
                if halve:
                    smaller.extend(cut.halves())
                elif too_large or after_halves:
                    # After halves too: the second may begin later than the overlap does.
                    smaller.append(cut.without_overlap())
                else:
                    smaller.append(cut)
                after_halves = halve
            cuts = self._counted(text, smaller)
        return cuts

    def _is_too_large(self, cut: Cut) -> bool:
        divisible = cut.repeats or cut.draft.stop - cut.draft.first > 1
        return cut.tokens > self.sizes.limit and divisible


class StructureSplitter(Splitter):
    """Packs whole paragraphs up to `size` tokens, and repeats whole sentences up to `overlap`."""

    def __init__(
        self,
        count_tokens: CountTokens,
        *,
        size: int,
        overlap: int,
        limit: int,
        keeps_together: bool = False,
    ) -> None:
        sizes = token_sizes(size, overlap=overlap, limit=limit)
        super().__init__(count_tokens, sizes=sizes, keeps_together=keeps_together)

    def draft(self, text: str, runs: Sequence[Run]) -> Iterable[list[Cut]]:
        drafted = list(self.packed(text, runs))
        repeats = [text[slice(*cut.repeated)] for cuts in drafted for cut in cuts if cut.repeats]
        counts = iter(self.count_tokens(repeats))
        return [[self._bounded(cut, counts) for cut in cuts] for cuts in drafted]

    def _bounded(self, cut: Cut, counts: Iterator[int]) -> Cut:
        """Sentences together may count more than one by one: then nothing is repeated."""
        if cut.repeats and next(counts) > self.sizes.overlap:
            return cut.without_overlap()
        return cut


def token_sizes(size: int, *, overlap: int, limit: int) -> Sizes:
    return Sizes(size, overlap, limit, characters=limit * CHARACTERS_PER_TOKEN)


def _whole(run: Run, tokens: float) -> Cut:
    atom = Atom(run.start, run.end, tokens=int(tokens), unit=0)
    return Cut(run, (atom,), Draft(0, 0, 1), tokens=int(tokens))


def _passages(text: str, cuts: Sequence[Cut]) -> Iterator[Passage]:
    """The passages of one run; parts are numbered where code or a table is in several."""
    in_parts = cuts[0].run.kind != "text" and len(cuts) > 1
    for number, cut in enumerate(cuts, start=1):
        start, end = cut.span
        run = cut.run
        yield Passage(
            text=text[start:end],
            start=start,
            end=end,
            tokens=cut.tokens,
            kind=run.passage_kind,
            heading_path=_path(cut),
            language=run.members[-1].block.language,
            part=number if in_parts else 0,
            attributes=_attributes(cut),
        )


def _attributes(cut: Cut) -> dict[str, Any]:
    """Those of its blocks, and the sections that share it where there are several."""
    attributes = cut.run.attributes_in(*cut.span)
    attributes.pop("header_lines", None)
    if len(cut.atoms) == 1 and len(cut.run.sections) > 1:
        attributes["sections"] = [" > ".join(path) for path in cut.run.sections]
    return attributes


def _path(cut: Cut) -> tuple[str, ...]:
    """Of sections that share a passage, the headings they have in common."""
    if len(cut.atoms) == 1:
        return common_path(cut.run.sections)
    return cut.run.path_at(cut.span[1])
