"""Find the units of the evidence that can be an answer: each a sentence, row, item or piece of
code, with what a reader needs to understand it."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

import regex

from documents.text.boundaries import Span, trimmed, word_spans
from documents.text.sentences import sentence_spans
from retrieval.answering.requests import Evidence

from .blocks import PassageBlock, PassageBlockKind, blocks_of
from .groups import groups_of
from .pronouns import opens_with_pronoun
from .self_reference import is_about_itself

MAX_UNIT = 600  # characters; a longer sentence is cut between words
MAX_PAIR = 700  # for a sentence and the previous one
MAX_ITEM = 450  # longer list items are read by sentence
MAX_ROW = 2000  # rows contain padding
MAX_CODE = 800
MAX_LIST = 1200  # of a list that is shown whole with its lead-in
MAX_LEAD_IN = 300
MAX_PASSAGE = 20_000  # characters read per passage

# Anything like a citation marker. No unit crosses one, so none is ever repeated.
_MARKER = re.compile(
    r"\\?[\[【［〔]\^?\s{0,8}cite[sd]?\b(?:[^\]】］〕\n]{0,200}[\]】］〕])?", re.IGNORECASE
)
_LATER_NUMBER = re.compile(r"[ \t]*\(?(?:[02-9]|\d\d+)[.)]")
_LETTERS = regex.compile(r"\p{L}")
_SENTENCE_END = regex.compile(r"[.!?。！？؟।…:：;；][\"'”’»)\]*_`]*\s*\Z")


@dataclass(frozen=True, slots=True)
class Unit:
    """`core` is the sentence that is ranked; `spans` are shown: exact slices of the passage, in
    order, the last of which contains the core."""

    passage: int  # index of the evidence
    kind: PassageBlockKind
    core: Span
    spans: tuple[Span, ...]
    text: str  # of the core
    topic: str = ""  # of a whole table or list: its topic
    header: str = ""  # of a row, if it is in another passage
    context: str = field(default="", compare=False)  # its neighbours, and what introduces it
    heading: str = field(default="", compare=False)  # the nearest above it
    is_fragment: bool = False  # begins in the middle of a sentence or ends without one
    is_first: bool = False  # of the items of a list
    is_about_itself: bool = False  # begins with a sentence about its own page

    @property
    def compared(self) -> str:
        """The text that is compared with the words of the question."""
        return self.topic or self.text

    @property
    def has_neighbour(self) -> bool:
        return self.kind == "text" and self.spans[0][0] < self.core[0]


def is_claim(sentence: str) -> bool:
    """Whether this is a statement by itself, not a list number or a lead-in."""
    return bool(_LETTERS.search(sentence)) and not sentence.rstrip("*_ ").endswith((":", "："))


def shown_text(unit: Unit, evidence: Sequence[Evidence]) -> str:
    """Return the whole text that a reader sees."""
    text = evidence[unit.passage].text
    parts = [text[start:end] for start, end in unit.spans]
    return "\n".join([unit.header, *parts] if unit.header else parts)


def units_of(passage: int, evidence: Evidence, *, language: str) -> list[Unit]:
    """Return the passage's units in order."""
    text = evidence.text[:MAX_PASSAGE]
    language = evidence.hit.language or language or "en"
    headings = _heading_texts(evidence)
    heading = _last_heading(evidence)
    units: list[Unit] = []
    blocks = [
        replace(block, kind="heading") if _is_known_heading(text, block, headings) else block
        for block in blocks_of(text)
        if text[block.start : block.end].strip()
    ]
    for number, block in enumerate(blocks):
        if block.kind == "heading":
            heading = text[block.start : block.end]
            continue
        if block.kind == "header":
            continue
        if block.kind == "text":
            found = _sentences(text, block, language)
            found = _with_list(text, found, blocks[number + 1 :])
        else:
            found = _whole(text, block, language)
        header = evidence.hit.table_header if block.kind == "row" and not block.lead_in else ""
        fresh = [_unit(passage, text, block, core, spans) for core, spans in found]
        units += [replace(unit, header=header, heading=heading) for unit in fresh]
    units = [unit for unit in units if unit.kind == "row" or _LETTERS.search(unit.text)]
    first_items = _first_items(text, blocks)
    units = [replace(unit, is_first=unit.core[0] in first_items) for unit in units]
    return [*_beside(text, units), *_whole_groups(passage, text, blocks, units)]


def _first_items(text: str, blocks: Sequence[PassageBlock]) -> frozenset[int]:
    """Return where the first item of each list starts, except for lists that began in another
    passage."""
    return frozenset(
        block.start
        for before, block in zip([None, *blocks], blocks, strict=False)
        if block.kind == "item"
        and (before is None or before.kind != "item")
        and not _LATER_NUMBER.match(text, block.start)
    )


def _whole_groups(
    passage: int, text: str, blocks: Sequence[PassageBlock], units: Sequence[Unit]
) -> Iterator[Unit]:
    """Return small tables and lists as single units, with their header or heading as the topic."""
    places = {unit.core[0]: number for number, unit in enumerate(units)}
    for group in groups_of(blocks):
        core = (group.whole.start, group.whole.end)
        number = places.get(group.first)
        if number is None or _MARKER.search(text, *core):
            continue
        heading = units[number].heading
        header = text[slice(*group.header)] if group.header else ""
        before = units[number - 1].text if number else ""
        yield replace(
            _unit(passage, text, group.whole, core, (core,)),
            topic=f"{heading} {header}".strip(),
            heading=heading,
            context=f"{before} {text[slice(*core)]}",
        )


UnitSpans = list[tuple[Span, tuple[Span, ...]]]  # the core, and what is shown


def _sentences(text: str, block: PassageBlock, language: str) -> UnitSpans:
    """A sentence that begins with a pronoun includes the previous one."""
    found: UnitSpans = []
    previous: Span | None = None
    for start, end in _sentence_spans(text, block.start, block.end, language):
        spans: tuple[Span, ...] = ((start, end),)
        is_short = previous and end - previous[0] <= MAX_PAIR
        if previous and is_short and opens_with_pronoun(text[start:end], language):
            between = text[previous[1] : start]
            spans = ((previous[0], end),) if not between.strip() else (previous, (start, end))
        found.append(((start, end), spans))
        previous = (start, end)
    return found


def _sentence_spans(text: str, start: int, end: int, language: str) -> Iterator[Span]:
    for first, last in _between_markers(text, start, end):
        for one, two in sentence_spans(text[first:last], language=language):
            if two - one <= MAX_UNIT:
                yield first + one, first + two
            else:
                yield from word_spans(text, first + one, first + two, length=MAX_UNIT)


def _between_markers(text: str, start: int, end: int) -> Iterator[Span]:
    edges = [start]
    for marker in _MARKER.finditer(text, start, end):
        edges += [marker.start(), marker.end()]
    edges.append(end)
    for first, last in zip(edges[::2], edges[1::2], strict=True):
        span = trimmed(text, first, last)
        if span[0] < span[1]:
            yield span


def _with_list(text: str, found: UnitSpans, following: Sequence[PassageBlock]) -> UnitSpans:
    """A sentence that introduces a list is shown with the list. If the list is too long, the
    sentence is not a unit; each item includes it instead."""
    if not found or not text[found[-1][0][0] : found[-1][0][1]].endswith((":", "：")):
        return found
    (start, end), spans = found[-1]
    last = end
    for block in following:
        if block.kind not in ("item", "code", "row", "header"):
            break
        last = block.end
        if last - start > MAX_LIST:
            return found[:-1]
    if last == end or _MARKER.search(text, end, last):
        return found
    return [*found[:-1], ((start, end), (*spans[:-1], (spans[-1][0], last)))]


def _whole(text: str, block: PassageBlock, language: str) -> UnitSpans:
    """Return a row, short item or small code block as one unit, after the line that introduces
    it."""
    if block.kind == "code":
        if block.end - block.start > MAX_CODE or _MARKER.search(text, block.start, block.end):
            return []
        cores = [(block.start, block.end)]
    elif block.kind == "row" or block.end - block.start <= MAX_ITEM:
        end = min(block.end, block.start + MAX_ROW)
        cores = list(_between_markers(text, block.start, end))
    else:
        cores = list(_sentence_spans(text, block.start, block.end, language))
    lead_in = _lead_in(text, block, language)
    return [(core, (*lead_in, core)) for core in cores]


def _lead_in(text: str, block: PassageBlock, language: str) -> tuple[Span, ...]:
    """Return the last sentence of it, or the whole header of a table."""
    if block.lead_in is None or _MARKER.search(text, *block.lead_in):
        return ()
    if block.kind == "row":
        return (block.lead_in,)
    start, end = block.lead_in
    if end - start > MAX_LEAD_IN:
        sentences = list(_sentence_spans(text, start, end, language))
        start, end = sentences[-1] if sentences else (start, end)
    return ((start, end),) if end - start <= MAX_LEAD_IN else ()


def _unit(
    passage: int, text: str, block: PassageBlock, core: Span, spans: tuple[Span, ...]
) -> Unit:
    own = text[slice(*core)]
    joined = [spans[0]]
    for one, two in pairwise(spans):
        if text[one[1] : two[0]].strip():
            joined.append(two)
        else:
            joined[-1] = (joined[-1][0], two[1])
    is_open = block.kind == "text" and not _SENTENCE_END.search(own)
    return Unit(
        passage=passage,
        kind=block.kind,
        core=core,
        spans=tuple(joined),
        text=own,
        is_fragment=is_open or (block.kind == "text" and own[:1].islower()),
        is_about_itself=is_about_itself(text[spans[0][0] : core[1]]),
    )


def _beside(text: str, units: Sequence[Unit]) -> Iterator[Unit]:
    """Add the surrounding text to each unit, for judging its topic."""
    for number, unit in enumerate(units):
        around = [unit.header, *(text[start:end] for start, end in unit.spans[:-1])]
        around += [each.text for each in units[max(0, number - 1) : number + 2] if each is not unit]
        yield replace(unit, context=" ".join(around))


def _heading_texts(evidence: Evidence) -> frozenset[str]:
    hit = evidence.hit
    path = hit.chunk_metadata.get("heading_path") or ()
    parts = [hit.title, hit.section, *re.split(r" [>—/] ", hit.section), *map(str, path)]
    return frozenset(part.strip().casefold() for part in parts if part.strip())


def _last_heading(evidence: Evidence) -> str:
    """Return the heading of the passage's section, but not the document's title."""
    path = evidence.hit.chunk_metadata.get("heading_path") or [evidence.hit.section]
    return str(path[-1]) if str(path[-1]) != evidence.hit.title else ""


def _is_known_heading(text: str, block: PassageBlock, headings: frozenset[str]) -> bool:
    return block.kind == "text" and text[block.start : block.end].strip().casefold() in headings
