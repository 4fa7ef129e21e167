"""Find where a quotation is in the evidence, exactly or nearly.

Near matches are found by words: positions that share words and pairs of words with the quotation
vote for a diagonal, and a local alignment in a narrow band around the best ones returns the span.
The work is proportional to the quotation's length times the band, whatever the evidence looks like.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from .exact_spans import allowed_parts, whole
from .words import Token, stem, tokens

MAX_PLACES = 64  # of a word or pair; more do not help to locate a quotation
MAX_EXACT_TRIES = 20
BUCKET = 8  # tokens; diagonals this close are one candidate
MAX_CANDIDATES = 3
MIN_SIMILARITY = 0.7  # of a span, to replace the quotation
MIN_PART_TOKENS = 5  # of a quotation whose other words are elsewhere or nowhere
MIN_PART_SHARE = 0.3


@dataclass(frozen=True, slots=True)
class Found:
    """text[start:end] of passage number `source`."""

    source: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class _Match:
    score: float
    similarity: float
    first: int  # of the quotation's tokens
    last: int
    evidence_first: int  # of the index's tokens
    evidence_last: int
    matched_weight: float


class EvidenceIndex:
    """The texts of the evidence, indexed for finding quotations."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._texts = texts
        self._tokens: list[Token | None] = []  # None separates passages
        self._sources: list[int] = []
        self._places: dict[object, list[int]] = defaultdict(list)
        for number, text in enumerate(texts):
            self._add(number, text)

    def _add(self, number: int, text: str) -> None:
        found = tokens(text)
        base = len(self._tokens)
        self._tokens += [*found, None]
        self._sources += [number] * (len(found) + 1)
        for place, token in enumerate(found, base):
            self._places[token.text].append(place)
        for place, (one, two) in enumerate(pairwise(found), base):
            self._places[one.text, two.text].append(place)

    def exact(self, quote: str, *, preferred: Sequence[int] = ()) -> Found | None:
        """Find the quotation character by character, without cutting words or numbers."""
        for source in _in_order(preferred, len(self._texts)):
            text = self._texts[source]
            start = text.find(quote)
            for _ in range(MAX_EXACT_TRIES):
                if start < 0:
                    break
                span = start, start + len(quote)
                if whole(text, *span) == span:
                    is_allowed = list(allowed_parts(text, *span)) == [span]
                    return Found(source, *span) if is_allowed else None
                start = text.find(quote, start + 1)
        return None

    def nearest(
        self, quote: Sequence[Token], *, preferred: Sequence[int] = (), depth: int = 2
    ) -> list[Found]:
        """Return the spans that the quotation's words come from, in its order; none if nothing is
        similar, several if it was stitched together."""
        match = self._best(quote, preferred)
        if match is None:
            return []
        total = sum(token.weight for token in quote)
        if match.similarity < MIN_SIMILARITY:
            return []
        share = match.matched_weight / total
        is_part = match.last - match.first + 1 >= MIN_PART_TOKENS and share >= MIN_PART_SHARE
        if share < MIN_SIMILARITY and not is_part:
            return []
        span = self._span(match)
        if span is None:
            return []
        before: list[Found] = []
        after: list[Found] = []
        if depth and match.first >= MIN_PART_TOKENS:
            before = self.nearest(quote[: match.first], preferred=preferred, depth=depth - 1)
        if depth and len(quote) - match.last > MIN_PART_TOKENS:
            after = self.nearest(quote[match.last + 1 :], preferred=preferred, depth=depth - 1)
        return _apart([*before, span, *after])

    def _best(self, quote: Sequence[Token], preferred: Sequence[int]) -> _Match | None:
        votes = self._votes(quote)
        wanted = {place for place, _ in votes.most_common(MAX_CANDIDATES)}
        inside = (
            place for place, _ in votes.most_common() if self._source_at(place, quote) in preferred
        )
        wanted.update(place for place, _ in zip(inside, range(1), strict=False))
        matches = [found for place in sorted(wanted) if (found := self._align(quote, place))]
        return max(
            matches,
            key=lambda m: m.score * (1.1 if self._sources[m.evidence_first] in preferred else 1),
            default=None,
        )

    def _source_at(self, bucket: int, quote: Sequence[Token]) -> int:
        middle = bucket * BUCKET + len(quote) // 2
        return self._sources[min(max(middle, 0), len(self._sources) - 1)]

    def _votes(self, quote: Sequence[Token]) -> Counter[int]:
        votes: Counter[int] = Counter()
        pairs = [(one.text, two.text) for one, two in pairwise(quote)]
        keys: list[tuple[int, object]] = [(n, token.text) for n, token in enumerate(quote)]
        keys += list(enumerate(pairs))
        for position, key in keys:
            places = self._places.get(key, ())
            if len(places) > MAX_PLACES:
                continue
            for place in places:
                # Two buckets each, so that no diagonal is at an edge.
                votes[(place - position) // BUCKET] += 1
                votes[(place - position - BUCKET // 2) // BUCKET] += 1
        return votes

    def _align(self, quote: Sequence[Token], bucket: int) -> _Match | None:
        slack = BUCKET + len(quote) // 8
        low = bucket * BUCKET - slack
        width = 2 * slack + 2 * BUCKET
        return _local_alignment(quote, self._tokens, low, width)

    def _span(self, match: _Match) -> Found | None:
        """Return the aligned span as text: whole words, no block break, nothing like a marker."""
        source = self._sources[match.evidence_first]
        first, last = self._tokens[match.evidence_first], self._tokens[match.evidence_last]
        if first is None or last is None:  # alignments never touch the gaps between passages
            return None
        text = self._texts[source]
        start, end = whole(text, first.start, last.end)
        parts = list(allowed_parts(text, start, end))
        if not parts:
            return None
        start, end = max(parts, key=lambda part: part[1] - part[0])
        return Found(source, start, end)


def _in_order(preferred: Sequence[int], count: int) -> list[int]:
    return [*preferred, *(n for n in range(count) if n not in preferred)]


def _apart(found: Sequence[Found]) -> list[Found]:
    """Drop spans that overlap an earlier one."""
    kept: list[Found] = []
    for span in found:
        if not any(
            other.source == span.source and span.start < other.end and other.start < span.end
            for other in kept
        ):
            kept.append(span)
    return kept


def _similarity(one: Token, two: Token | None) -> float:
    """1 if equal; above 0 for another form of the word, or another number."""
    if two is None:
        return -100.0
    if one.text == two.text:
        return 1.0
    if one.is_number and two.is_number:
        return 0.4
    if one.is_number or two.is_number or len(one.text) < 4:
        return -1.0
    return 0.7 if stem(one.text) == stem(two.text) else -1.0


def _local_alignment(
    quote: Sequence[Token], evidence: Sequence[Token | None], low: int, width: int
) -> _Match | None:
    """Smith-Waterman, with the evidence's token `low + row + column` in each cell."""
    previous = [0.0] * (width + 1)
    moves: list[bytearray] = []  # 0 stop, 1 both, 2 only the quotation's, 3 only the evidence's
    best, best_cell = 0.0, (-1, -1)
    for row, token in enumerate(quote):
        current = [0.0] * (width + 1)
        move = bytearray(width)
        weight = token.weight
        for column in range(width):
            place = low + row + column
            if not 0 <= place < len(evidence):
                continue
            other = evidence[place]
            if other is None:
                continue
            both = previous[column] + 2 * weight * _similarity(token, other)
            skipped_quote = previous[column + 1] - 1.5 * weight
            skipped_evidence = (current[column - 1] if column else 0.0) - 0.8 * other.weight
            score = max(0.0, both, skipped_quote, skipped_evidence)
            current[column] = score
            if score > 0:
                move[column] = 1 if score == both else 2 if score == skipped_quote else 3
            if score > best:
                best, best_cell = score, (row, column)
        moves.append(move)
        previous = current
    return _traced(quote, evidence, low, moves, best, best_cell) if best > 0 else None


def _traced(
    quote: Sequence[Token],
    evidence: Sequence[Token | None],
    low: int,
    moves: Sequence[bytearray],
    best: float,
    cell: tuple[int, int],
) -> _Match:
    row, column = cell
    last = row
    evidence_last = low + row + column
    first, evidence_first = last, evidence_last
    matched = 0.0
    while row >= 0 and 0 <= column < len(moves[row]) and (move := moves[row][column]):
        place = low + row + column
        if move == 1:
            first, evidence_first = row, place
            matched += quote[row].weight * max(0.0, _similarity(quote[row], evidence[place]))
            row -= 1
        elif move == 2:
            row, column = row - 1, column + 1
        else:
            column -= 1
    quoted = sum(token.weight for token in quote[first : last + 1])
    written = sum(token.weight for token in evidence[evidence_first : evidence_last + 1] if token)
    return _Match(
        best, 2 * matched / (quoted + written), first, last, evidence_first, evidence_last, matched
    )
