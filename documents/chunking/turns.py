"""Split a transcript into passages of several turns, with each turn in two or more of them."""

from collections.abc import Iterator, Sequence
from itertools import accumulate

from documents.chunking.sizes import CountTokens
from documents.passages import Block, Extracted, Passage
from documents.text.boundaries import Span

TURN = "turn"  # the attribute that marks the block of a turn

# A question and its answer, with the turns before and after.
TURNS = 6
STRIDE = 3


def is_transcript(extracted: Extracted) -> bool:
    return any(TURN in block.attributes for block in extracted.blocks)


class TurnSplitter:
    """Windows of `turns` turns that begin every `stride` turns, of at most `limit` tokens.

    The windows over a turn do not change when turns are added after it, except for the last one, so
    that a growing conversation embeds only its end again.
    """

    def __init__(
        self, count_tokens: CountTokens, *, limit: int, turns: int = TURNS, stride: int = STRIDE
    ) -> None:
        if not 0 < stride <= turns:
            raise ValueError("stride must be from 1 to the number of turns in a window")
        self.count_tokens = count_tokens
        self.limit = limit
        self.turns = turns
        self.stride = stride

    def split(self, extracted: Extracted) -> list[Passage]:
        blocks = [block for block in extracted.blocks if TURN in block.attributes]
        units = list(self._units(extracted.text, blocks))
        speakers = tuple(dict.fromkeys(str(block.attributes["speaker"]) for block in blocks))
        path = (", ".join(speakers),)
        spans = list(self._windows(extracted.text, units))
        texts = [extracted.text[start:end] for start, end in spans]
        return [
            Passage(
                text=text,
                start=start,
                end=end,
                tokens=tokens,
                heading_path=path,
                attributes={"turns": _turns_in(blocks, start, end)},
            )
            for (start, end), text, tokens in zip(
                spans, texts, self.count_tokens(texts), strict=True
            )
        ]

    def _units(self, text: str, blocks: Sequence[Block]) -> Iterator[Span]:
        """Yield the spans of turns; of a turn that is too long for one passage, its parts."""
        counts = self.count_tokens([text[block.start : block.end] for block in blocks])
        for block, tokens in zip(blocks, counts, strict=True):
            if tokens <= self.limit:
                yield block.start, block.end
            else:
                yield from self._halves(text, block.start, block.end)

    def _halves(self, text: str, start: int, end: int) -> Iterator[Span]:
        middle = _word_start(text, start, end)
        for first, last in ((start, middle), (middle, end)):
            (tokens,) = self.count_tokens([text[first:last]])
            if tokens > self.limit and last - first > 1:
                yield from self._halves(text, first, last)
            else:
                yield first, last

    def _windows(self, text: str, units: Sequence[Span]) -> Iterator[Span]:
        """Yield spans. A window that is over the limit ends earlier, and the next one begins no
        later than at its end, so that no turn is left out."""
        counts = self.count_tokens([text[start:end] for start, end in units])
        before = [0, *accumulate(counts)]
        first = reached = 0
        while first < len(units):
            stop = min(first + self.turns, len(units))
            while stop - first > 1 and not self._fits(text, units, before, first, stop):
                stop -= 1
            if stop <= reached:  # all of it is in the window before
                first += 1
                continue
            yield units[first][0], units[stop - 1][1]
            reached = stop
            first = len(units) if stop == len(units) else min(first + self.stride, stop)

    def _fits(
        self, text: str, units: Sequence[Span], before: Sequence[int], first: int, stop: int
    ) -> bool:
        if before[stop] - before[first] > self.limit:
            return False
        # Texts can have more tokens together than the sum of their separate counts.
        (tokens,) = self.count_tokens([text[units[first][0] : units[stop - 1][1]]])
        return tokens <= self.limit


def _word_start(text: str, start: int, end: int) -> int:
    """Return the start of a word near the middle; the middle itself within an endless word."""
    middle = (start + end) // 2
    space = text.rfind(" ", (start + middle) // 2, middle)
    return space + 1 if space > start else middle


def _turns_in(blocks: Sequence[Block], start: int, end: int) -> list[dict[str, object]]:
    """Return the turns that overlap the span, with their whole spans."""
    return turns_of([block for block in blocks if block.start < end and block.end > start])


def turns_of(blocks: Sequence[Block]) -> list[dict[str, object]]:
    """Return the turns among the blocks, with their spans."""
    return [
        {**block.attributes, "start": block.start, "end": block.end}
        for block in blocks
        if TURN in block.attributes
    ]
