"""Find quotations in an answer, and the exact text of the evidence for each."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

import regex

from documents.text.folding import UNSPACED
from retrieval.answering.requests import Evidence

from .alignment import EvidenceIndex, Found
from .exact_spans import whole
from .markers import DROPPED, MARKER, REMOVED_END, REMOVED_START
from .words import tokens

# The closing marks for each opening mark. Swedish and Finnish use ” for both.
CLOSING_MARKS = {
    "“": '”"',
    "”": "”",
    "„": '“”"',
    "‟": "”",
    '"': '"”',
    "＂": "＂",
    "«": "»",
    "»": "«",
    "‹": "›",
    "›": "‹",
    "「": "」",
    "『": "』",
    "‘": "’",
    "‚": "‘’",
    "'": "'",
}
DOUBLE_MARKS = frozenset('“”„‟"＂«»「」『』')  # never apostrophes
APOSTROPHES = frozenset("'’‘‚‹›")
ALL_MARKS = frozenset(CLOSING_MARKS) | frozenset("”’」』›")
MARK = regex.compile("[" + "".join(map(regex.escape, sorted(ALL_MARKS))) + "]")
MIN_WORDS, MIN_CHARACTERS = 3, 12  # shorter quotations are titles, terms and scare quotes
MAX_QUOTE = 2500  # characters held back while waiting for a closing mark
MAX_SINGLE_QUOTE = 500  # the same after ‘ and ', which may be apostrophes
MAX_GAP = 300  # maximum characters from a quotation to its marker
MAX_STITCHED = 8  # maximum parts of a quotation with ellipses

_ELLIPSIS = regex.compile(r"\s*(?:[\[(]\s*(?:\.\.\.+|…)\s*[\])]|\.\.\.+|(?:\. ){2,}\.|…+)\s*")
_PARAGRAPH_END = regex.compile(r"\n[ \t]{0,64}+\n")
_ELIDED = regex.compile(r"['’‘](?:\d0s|tis|twas|em|n|cause|til|round)\b", regex.IGNORECASE)
_PLACEHOLDERS = regex.compile(f"[{MARKER}{DROPPED}{REMOVED_START}{REMOVED_END}]")
_ENDS = {
    mark: regex.compile("[" + regex.escape(closing + mark) + "]")
    for mark, closing in CLOSING_MARKS.items()
}
_BEFORE_OPENING = frozenset("([{—–-/>*_~`:=" + MARKER + DROPPED + REMOVED_START + REMOVED_END)
ELISION = 8  # characters after ' that distinguish an elision ('tis, '90s) from a quotation
_MAY_OPEN = frozenset("'\"＂«“‹")  # as well as close
UNSPACED_LETTER = regex.compile(UNSPACED, regex.VERSION1)
_EDGES = " \t\n*_`"
_FINAL_PUNCTUATION = ",.;:!?。，"


_GAP_END = regex.compile(rf"{MARKER}|\n|[.!?](?=\s)|[。！？“„«「『]|(?<=\s)\"(?=\S)")
_MARKER_NEXT = regex.compile(rf"[\s\"'”’»*_)\].,;:!?。{DROPPED}]{{0,12}}+{MARKER}")
# Mixed marks that models write, and their replacements.
_MIXED = {("“", '"'): "”", ("„", '"'): "“", ('"', "”"): '"'}


class Ending(Enum):
    UNCLOSED = "unclosed"
    UNKNOWN = "unknown"  # more text is needed


@dataclass(frozen=True, slots=True)
class CheckedQuote:
    parts: tuple[Found, ...]  # its replacement; empty if no passage has anything similar
    is_exact: bool = False
    is_name: bool = False  # a document's title or section, which needs no citation
    punctuation: str = ""  # inside the marks, but not part of the source


def without_placeholders(text: str) -> str:
    return str(_PLACEHOLDERS.sub("", text))


def is_long_enough(quote: str) -> bool:
    quote = without_placeholders(quote).strip()
    return len(quote) >= MIN_CHARACTERS or len(quote.split()) >= MIN_WORDS


def opens(text: str, position: int, before: str) -> bool:
    """Whether the mark at `position` opens a quotation; `before` is the preceding character."""
    mark = text[position]
    after = text[position + 1 : position + 2]
    if mark not in CLOSING_MARKS or (after.isspace() and mark not in "«“„「『"):
        return False
    if mark in "“„‟«「『":
        return True
    if _ELIDED.match(text, position):
        return False
    if mark in "‘‚‹":
        return not before.isalnum()
    # Other marks may also close: they open only after a space, a bracket or a dash.
    return not before or before.isspace() or before in _BEFORE_OPENING


def ending(text: str, start: int, *, resume: int = 0, final: bool) -> int | Ending:
    """Return where the quotation that opens at `start` is closed. Text before `resume` was already
    checked."""
    mark = text[start]
    limit = start + 1 + (MAX_SINGLE_QUOTE if mark in APOSTROPHES else MAX_QUOTE)
    stop = min(len(text), limit)
    is_complete = final or len(text) > limit
    paragraph_end = _PARAGRAPH_END.search(text, max(start + 1, resume - 70), stop)
    if paragraph_end:
        stop, is_complete = paragraph_end.start(), True
    for found in _ENDS[mark].finditer(text, max(start + 1, resume), stop):
        position: int = found.start()
        needed = ELISION if mark in APOSTROPHES else 1
        if position + needed >= len(text) and not final:
            return Ending.UNKNOWN
        if found[0] in CLOSING_MARKS[mark] and _closes(text, position):
            return position
        if found[0] == mark and opens(text, position, text[position - 1]):
            return Ending.UNCLOSED
    return Ending.UNCLOSED if is_complete else Ending.UNKNOWN


def _closes(text: str, position: int) -> bool:
    mark, before = text[position], text[position - 1]
    after = text[position + 1 : position + 2]
    if mark in _MAY_OPEN or mark == "’":
        if after.isalnum() and not UNSPACED_LETTER.match(after):
            return False
        return mark == "’" or not before.isspace()
    return True


def marker_after(text: str, end: int, *, final: bool) -> int | None:
    """Return the position of the marker for the quotation closed at `end`: directly after it, or in
    the rest of the sentence. -1 if there is none, None if it is not known yet."""
    at_once = _MARKER_NEXT.match(text, end + 1, partial=not final)
    if at_once:
        return None if at_once.partial else at_once.end() - 1
    if text[end - 1] in ".!?。！？":
        return -1
    limit = end + 1 + MAX_GAP
    stop = _GAP_END.search(text, end + 1, limit)
    if stop is None:
        return -1 if final or len(text) > limit else None
    if stop[0] == MARKER:
        return int(stop.start())
    if stop[0] in ".!?。！？":
        after = _MARKER_NEXT.match(text, stop.end(), partial=not final)
        if after:
            return None if after.partial else after.end() - 1
    return -1


def partner(opening: str, closing: str) -> str:
    return _MIXED.get((opening, closing), closing)


class QuoteChecker:
    def __init__(self, evidence: Sequence[Evidence]) -> None:
        self._evidence = evidence
        self._places = {item.id: place for place, item in enumerate(evidence)}
        self._names = {
            name.strip() for item in evidence for name in (item.hit.title, item.hit.section)
        }
        self._index: EvidenceIndex | None = None  # built for the first quotation

    def check(self, quote: str, *, preferred: Sequence[str]) -> CheckedQuote:
        """`preferred` are the ids of the passages that nearby markers name."""
        quote = without_placeholders(quote).strip(_EDGES)
        if not quote:
            return CheckedQuote(())
        if self._index is None:
            self._index = EvidenceIndex([item.text for item in self._evidence])
        places = [self._places[name] for name in preferred if name in self._places]
        if found := self._index.exact(quote, preferred=places):
            return CheckedQuote((found,), is_exact=True)
        if quote in self._names:
            return CheckedQuote((), is_name=True)
        shorter = quote.rstrip(_FINAL_PUNCTUATION)
        punctuation = quote[len(shorter) :]
        if punctuation and is_long_enough(shorter):
            if found := self._index.exact(shorter, preferred=places):
                return CheckedQuote((found,), punctuation=punctuation)
            if shorter in self._names:
                return CheckedQuote((), is_name=True)
        return self._nearly(quote, places)

    def _nearly(self, quote: str, places: Sequence[int]) -> CheckedQuote:
        index = self._index
        if index is None:
            return CheckedQuote(())
        pieces = [piece for piece in _ELLIPSIS.split(quote) if is_long_enough(piece)]
        if len(pieces) < 2:
            pieces = [_ELLIPSIS.sub(" ", quote)]
        found: list[Found] = []
        for piece in pieces[:MAX_STITCHED]:
            exact = index.exact(piece.strip(_EDGES), preferred=places)
            found += [exact] if exact else index.nearest(tokens(piece), preferred=places)
        parts = [self._with_full_stop(part, quote) for part in found]
        parts = [part for part in parts if is_long_enough(self.slice(part))]
        punctuation = quote[-1] if quote[-1] in _FINAL_PUNCTUATION and parts else ""
        if punctuation and self.slice(parts[-1]).endswith(punctuation):
            punctuation = ""
        return CheckedQuote(tuple(parts), punctuation=punctuation)

    def _with_full_stop(self, part: Found, quote: str) -> Found:
        text = self._evidence[part.source].text
        after = text[part.end : part.end + 1]
        if after and after == quote[-1] and after in _FINAL_PUNCTUATION:
            end = part.end + 1
            if whole(text, part.start, end) == (part.start, end):
                return Found(part.source, part.start, end)
        return part

    def slice(self, found: Found) -> str:
        return self._evidence[found.source].text[found.start : found.end]

    def id_of(self, found: Found) -> str:
        return self._evidence[found.source].id
