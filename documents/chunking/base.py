"""Split a text and its blocks into passages that respect headings, spans and the model's limit."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import groupby
from typing import Any

from documents.chunking.atoms import AtomCutter
from documents.chunking.grouping import common_path, group
from documents.chunking.packing import UNCOUNTED, Draft, Packer
from documents.chunking.sections import Run, outline
from documents.chunking.sizes import CountTokens, Sizes, token_sizes
from documents.chunking.table_passages import readable_tables
from documents.passages import Extracted, Passage


class Splitter(ABC):
    """The steps that all chunkers share. A subclass only decides where running text is cut.

    Code and tables stay whole up to `limit` tokens; larger ones are cut at line ends.
    """

    warnings: tuple[str, ...] = ()  # from the last split; added to the document's warnings

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
    def draft(self, text: str, runs: Sequence[Run]) -> Iterable[list[Draft]]:
        """Return the drafts of each run of text, in order. Drafts that are too large are halved
        later."""

    def split(self, extracted: Extracted) -> list[Passage]:
        text = extracted.text
        drafts = self._drafted(text, list(outline(extracted)))
        drafts = self._within_limit(text, self._counted(text, drafts))
        by_run = groupby(drafts, key=lambda draft: draft.run)
        passages = [passage for _, of_run in by_run for passage in _passages(text, list(of_run))]
        if self.keeps_together:
            return readable_tables(
                extracted, passages, count_tokens=self.count_tokens, limit=self.sizes.limit
            )
        return passages

    def _drafted(self, text: str, runs: Sequence[Run]) -> list[Draft]:
        items = self._grouped(text, runs) if self.keeps_together else self._keep_whole(text, runs)
        to_cut = [item for item in items if isinstance(item, Run)]
        prose = iter(self.draft(text, [run for run in to_cut if run.kind == "text"]))
        solid = iter(self.packed(text, [run for run in to_cut if run.kind != "text"]))
        drafts: list[Draft] = []
        for item in items:
            if isinstance(item, Draft):
                drafts.append(item)
            else:
                drafts.extend(next(prose if item.kind == "text" else solid))
        return drafts

    def packed(self, text: str, runs: Sequence[Run]) -> Iterator[list[Draft]]:
        """Pack whole paragraphs, or whole groups of lines, up to the size."""
        for run, atoms in zip(runs, self.cutter.cut(text, runs), strict=True):
            yield Packer(run, atoms, sizes=self.sizes).pack()

    def _grouped(self, text: str, runs: Sequence[Run]) -> list[Run | Draft]:
        groups = group(runs, partial(self.cutter.measure, text), size=self.sizes.size)
        return [run if tokens is None else Draft.whole(run, tokens) for run, tokens in groups]

    def _keep_whole(self, text: str, runs: Sequence[Run]) -> list[Run | Draft]:
        """Turn code and tables that fit the limit into drafts; leave other runs to be packed.

        A bare heading or caption stays with the code below it, and is split off only if the code
        fits the limit alone but not together with it. If the code is cut anyway, its first part
        begins with the heading. A heading with an introduction is a passage of text.
        """
        solid = [run for run in runs if run.kind != "text"]
        counts = iter(self.cutter.measure(text, [(run.start, run.end) for run in solid]))
        items: list[Run | Draft] = []
        for run in runs:
            if run.kind == "text":
                items.append(run)
            elif (tokens := next(counts)) <= self.sizes.limit:
                items.append(Draft.whole(run, int(tokens)))
            else:
                items.extend(self._head_apart(text, run))
        return items

    def _head_apart(self, text: str, run: Run) -> tuple[Run | Draft, ...]:
        head, body = run.head_and_body()
        (tokens,) = self.cutter.measure(text, [(body.start, body.end)])
        if head.members and tokens <= self.sizes.limit:
            return head, Draft.whole(body, int(tokens))
        return (run,)

    def _counted(self, text: str, drafts: Sequence[Draft]) -> list[Draft]:
        texts = [text[slice(*draft.span)] for draft in drafts if draft.tokens == UNCOUNTED]
        counts = iter(self.count_tokens(texts))
        return [
            replace(draft, tokens=next(counts)) if draft.tokens == UNCOUNTED else draft
            for draft in drafts
        ]

    def _within_limit(self, text: str, drafts: list[Draft]) -> list[Draft]:
        """Halve drafts that are over the limit, and count again.

        The atoms of a draft can have more tokens together than the sum of their separate counts.
        """
        while any(map(self._is_too_large, drafts)):
            smaller: list[Draft] = []
            after_halves = False
            for draft in drafts:
                too_large = self._is_too_large(draft)
                halve = too_large and not draft.repeats
                if halve:
                    smaller.extend(draft.halves())
                elif too_large or after_halves:
                    # Also after halves: the second half may start later than the overlap does.
                    smaller.append(draft.without_overlap())
                else:
                    smaller.append(draft)
                after_halves = halve
            drafts = self._counted(text, smaller)
        return drafts

    def _is_too_large(self, draft: Draft) -> bool:
        return draft.tokens > self.sizes.limit and draft.is_divisible


class StructureSplitter(Splitter):
    """Packs whole paragraphs up to `size` tokens, with an overlap of whole sentences."""

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

    def draft(self, text: str, runs: Sequence[Run]) -> Iterable[list[Draft]]:
        drafted = list(self.packed(text, runs))
        repeats = [
            text[slice(*draft.repeated)] for drafts in drafted for draft in drafts if draft.repeats
        ]
        counts = iter(self.count_tokens(repeats))
        return [[self._bounded(draft, counts) for draft in drafts] for drafts in drafted]

    def _bounded(self, draft: Draft, counts: Iterator[int]) -> Draft:
        """Drop the overlap if its sentences together have more tokens than allowed."""
        if draft.repeats and next(counts) > self.sizes.overlap:
            return draft.without_overlap()
        return draft


def _passages(text: str, drafts: Sequence[Draft]) -> Iterator[Passage]:
    """Yield the passages of one run. Parts are numbered if code or a table is split."""
    is_split = drafts[0].run.kind != "text" and len(drafts) > 1
    for number, draft in enumerate(drafts, start=1):
        start, end = draft.span
        run = draft.run
        yield Passage(
            text=text[start:end],
            start=start,
            end=end,
            tokens=draft.tokens,
            kind=run.passage_kind,
            heading_path=_path(draft),
            language=run.members[-1].block.language,
            part=number if is_split else 0,
            attributes=_attributes(draft),
        )


def _attributes(draft: Draft) -> dict[str, Any]:
    """Return the attributes of its blocks, plus the sections if several share the passage."""
    attributes = draft.run.attributes_in(*draft.span)
    attributes.pop("header_lines", None)
    if len(draft.atoms) == 1 and len(draft.run.sections) > 1:
        attributes["sections"] = [" > ".join(path) for path in draft.run.sections]
    return attributes


def _path(draft: Draft) -> tuple[str, ...]:
    """Return the heading path; for sections that share a passage, the headings they have in
    common."""
    if len(draft.atoms) == 1:
        return common_path(draft.run.sections)
    return draft.run.path_at(draft.span[1])
