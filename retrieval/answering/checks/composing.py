"""Compose the checked answer: final text, offsets, and the citation of each marker."""

import regex

from documents.text.boundaries import Span
from documents.text.sentences import sentence_spans
from retrieval.answering.requests import CheckedText, Citation, Uncertainty

from .markers import DROPPED, REMOVED_END, REMOVED_START, Marker, canonical
from .sources import Source

MAX_CLAIM = 3000  # characters before a marker to search for the claim
MAX_CLAIM_AFTER = 300  # the same after a marker that precedes its claim

QUOTE_REMOVED = "The answer put these words in quotation marks, but no source says them."

_SPECIAL = regex.compile(f"([{DROPPED}{REMOVED_START}{REMOVED_END}])")
_UNFINISHED = regex.compile(r"[ \t]*+(?:\\?[\[【［〔]\s{0,8}(?:c|ci|cit)?|\\)?\Z", regex.IGNORECASE)
MAX_UNFINISHED = 64
_LOOSE_OPENING = regex.compile(r"\\?[\[【［〔]\s{0,8}(?=cite)", regex.IGNORECASE)
_OWN_LINE = regex.compile(r"(?:^|\n[ \t]*\n|\n(?=[ \t]*(?:[-*+•]|\d+[.)])[ \t]))[\s>*+•\-\d.)#]*$")
_WORD = regex.compile(r"[\p{L}\p{N}]")
_CLAIM_START = regex.compile(r"[\p{L}\p{N}$€£¥“„«「『‘\"'(\[+−]|-(?=\p{N})")
_LIST_NUMBER = regex.compile(r"(?:\d{1,3}|\p{L})[.)][ \t]+")
_AFTER_CLAIM = regex.compile(r"[.!?](?=\s)|[。！？\n]")


class Composer:
    def __init__(self, sources: dict[str, Source], *, language: str) -> None:
        self.uncertainties: list[Uncertainty] = []
        self.loose_openings = 0
        self._sources = sources
        self._language = language
        self._length = 0
        self._tail = ""  # spaces, and what may be the start of a marker
        self._after_drop = False
        self._ready: list[str] = []
        self._citations: list[Citation] = []
        self._since_marker: list[str] = []
        self._last = ""
        # Span and text of the previous marker, for one that directly follows.
        self._claim: tuple[Span, str] | None = None
        self._group: set[str] = set()  # ids of adjacent markers
        self._removed_starts: list[int] = []
        # A marker before its claim waits for the claim; nothing is sent meanwhile.
        self._waiting: list[str] = []
        self._waiting_at = 0
        self._fallback: tuple[Span, str] | None = None

    @property
    def last_character(self) -> str:
        """The character before the next one to be written."""
        return self._tail[-1:] or self._last

    def write(self, text: str) -> None:
        """Write text that may contain placeholders, but no MARKER."""
        for part in _SPECIAL.split(text):
            if part == DROPPED:
                self._after_drop = True
            elif part == REMOVED_START:
                self._removed_starts.append(self._length + len(self._tail))
            elif part == REMOVED_END:
                self._note_removed()
            elif part:
                self._write_plain(part)

    def _write_plain(self, text: str) -> None:
        if self._after_drop:
            text = self._tidied(text)
        text, loose = _LOOSE_OPENING.subn("(", self._tail + text)
        self.loose_openings += loose
        unfinished = _UNFINISHED.search(text, max(0, len(text) - MAX_UNFINISHED))
        cut = unfinished.start() if unfinished else len(text)
        self._tail = text[cut:]
        self._commit(text[:cut])

    def _tidied(self, text: str) -> str:
        """Remove the space that a dropped marker leaves before punctuation or another space."""
        if not self.last_character or self.last_character.isspace():
            text = text.lstrip(" \t")
        if text:
            self._after_drop = False
        if text[:1] in tuple(".,;:!?)\n。，") and not self._tail.strip(" \t"):
            self._tail = ""
        return text

    def _flush(self) -> None:
        tail, self._tail = self._tail, ""
        self._commit(tail)

    def _commit(self, text: str) -> None:
        if not text:
            return
        self._ready.append(text)
        self._since_marker.append(text)
        self._length += len(text)
        self._last = text[-1]
        if self._group and ("\n" in text or _WORD.search(text)):
            self._group = set()
        if self._waiting:
            self._settle_waiting()

    def write_quote(self, opening: str, quote: str, closing: str) -> Span:
        """Write text of the evidence unchanged; return its position in the answer."""
        self._flush()
        self._after_drop = False
        self._commit(opening)
        start = self._length
        self._commit(quote)
        self._commit(closing)
        return start, start + len(quote)

    def cite(self, marker: Marker) -> None:
        ids = [name for name in marker.ids if name not in self._group or name in marker.quotes]
        if not ids:
            self._after_drop = True
            return
        self._flush()
        self._after_drop = False
        since = "".join(self._since_marker)
        has_words = _WORD.search(since) is not None
        if self._waiting and not has_words:
            self._wait(ids)
            return
        self._settle_waiting(is_complete=True)
        if has_words:
            self._claim = self._claim_in(since, marker)
        if (self._claim is None or "\n" in since) and _OWN_LINE.search(since):
            self._fallback = self._claim
            self._wait(ids)
        elif self._claim is not None:
            self._add(ids, *self._claim, marker)
        else:
            self._wait(ids)

    def _add(self, ids: list[str], span: Span, claim: str, marker: Marker) -> None:
        for name in ids:
            quote = marker.quotes.get(name)
            start = min(span[0], quote.answer_start) if quote else span[0]
            citation = self._sources[name].citation(claim, (start, span[1]), quote)
            self._citations.append(citation)
            self._group.add(name)
            self._put_marker(name)

    def _put_marker(self, name: str) -> None:
        text = canonical(name)
        self._ready.append(text)
        self._length += len(text)
        self._last = text[-1]
        self._since_marker = []

    def _claim_in(self, since: str, marker: Marker) -> tuple[Span, str]:
        """Return the last sentence written since the previous marker."""
        base = self._length - len(since)
        text = since.rstrip()
        low = max(0, len(text) - MAX_CLAIM)
        lines = text[low:]
        line = lines.rfind("\n")
        while line >= 0 and not _WORD.search(lines, line):
            line = lines.rfind("\n", 0, line)
        low += line + 1
        spans = sentence_spans(text[low:], language=self._language)
        start = low + next(
            (span[0] for span in reversed(spans) if _WORD.search(text, low + span[0])), 0
        )
        for quote in marker.quotes.values():
            start = min(start, max(0, quote.answer_start - base - 1))
        if number := _LIST_NUMBER.match(text, start):
            start = number.end() if number.end() < len(text) else start
        begins = _CLAIM_START.search(text, start)
        start = begins.start() if begins else start
        return (base + start, base + len(text)), text[start:]

    def _wait(self, ids: list[str]) -> None:
        for name in ids:
            self._group.add(name)
            self._put_marker(name)
        self._waiting += ids
        self._waiting_at = self._length

    def _settle_waiting(self, *, is_complete: bool = False) -> None:
        """Assign the next sentence to the markers that precede their claim."""
        if not self._waiting:
            return
        after = "".join(self._since_marker)
        word = _WORD.search(after)
        end = _AFTER_CLAIM.search(after, word.start()) if word else None
        if end is None and len(after) < MAX_CLAIM_AFTER and not is_complete:
            return
        claim = after[: min(end.end() if end else len(after), MAX_CLAIM_AFTER)].rstrip()
        ids, self._waiting = self._waiting, []
        if _WORD.search(claim):
            begins = _CLAIM_START.search(claim)
            start = self._waiting_at + (begins.start() if begins else 0)
            self._claim = (start, self._waiting_at + len(claim)), claim
        elif self._fallback:
            self._claim = self._fallback
        else:
            self._take_back(ids)
            return
        span, claim = self._claim
        self._citations += [self._sources[name].citation(claim, span) for name in ids]

    def _take_back(self, ids: list[str]) -> None:
        """Drop markers with no text before or after that they could support."""
        for name in ids:
            self._ready.remove(canonical(name))
            self._length -= len(canonical(name))
        self.loose_openings += len(ids)

    def _note_removed(self) -> None:
        start = self._removed_starts.pop() if self._removed_starts else self._length
        end = self._length + len(self._tail)
        if start < end:
            self.uncertainties.append(
                Uncertainty("quote_removed", QUOTE_REMOVED, answer_start=start, answer_end=end)
            )

    def drain(self, *, final: bool = False) -> CheckedText | None:
        if final:
            self._tail = self._tail.rstrip()
            self._flush()
            self._settle_waiting(is_complete=True)
        if self._waiting or not self._ready:
            return None
        checked = CheckedText("".join(self._ready), tuple(self._citations))
        self._ready, self._citations = [], []
        return checked
