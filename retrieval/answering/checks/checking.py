"""Check text as it is written: it leaves with known markers and exact quotes, and their citations.

Each step (cleaning, markers, quotations, composing) works on characters, independent of how the
text was cut into pieces, and holds back a bounded number of characters until it can decide.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import regex

from retrieval.answering.requests import CheckedText, CheckReport, Citation, Evidence, Uncertainty

from .cleaning import Cleaner
from .composing import Composer
from .markers import DROPPED, MARKER, REMOVED_END, REMOVED_START, Marker, MarkerParser, PlacedQuote
from .quotes import (
    ALL_MARKS,
    DOUBLE_MARKS,
    ELISION,
    CheckedQuote,
    Ending,
    QuoteChecker,
    ending,
    is_long_enough,
    marker_after,
    opens,
    partner,
)
from .sources import sources_by_id

MAX_CHARACTERS = 50_000
STRIDE = 4096  # characters processed at a time
MAX_BLOCK_QUOTE = 4000
MAX_CODE_LINE = 2000

_MARKS = "".join(map(regex.escape, sorted(ALL_MARKS)))
_NEXT = regex.compile(rf"(?<=^[ ]*)(?P<block>>|```|~~~)|[{_MARKS}]", regex.MULTILINE)
_FENCE = regex.compile(r"[ ]*(?:```|~~~)")
_UNFINISHED_FENCE = regex.compile(r"(?<=^[ ]*)(?:`{1,2}|~{1,2})\Z", regex.MULTILINE)
_BLOCK_END = regex.compile(r"\n(?![ ]{0,3}>)")
_BLOCK_LINE = regex.compile(r"^[ ]{0,3}>[ ]?", regex.MULTILINE)
_DOUBLE = "".join(map(regex.escape, sorted(DOUBLE_MARKS)))
_INNER_MARKS = regex.compile(f"[{_DOUBLE}]")
_CURVED = "".join(map(regex.escape, sorted(set(DOUBLE_MARKS) - {'"'})))
_CODE_QUOTATION = regex.compile(rf"[{_CURVED}]([^{_CURVED}\n]+)[{_CURVED}]")


class AnswerChecker:
    def __init__(
        self,
        evidence: Sequence[Evidence],
        *,
        language: str = "en",
        max_characters: int = MAX_CHARACTERS,
    ) -> None:
        sources = sources_by_id(evidence, language=language)
        self._cleaner = Cleaner()
        self._parser = MarkerParser(sources)
        self._quotes = QuoteChecker([source.evidence for source in sources.values()])
        self._composer = Composer(sources, language=language)
        self._left = max_characters
        self._buffer = ""  # not yet decided
        self._resume = 0  # where to resume the search for a closing mark
        self._in_code = False
        self._at_line_start = True
        self._report = CheckReport()
        self._texts: list[str] = []
        self._citations: list[Citation] = []
        self._length = 0

    @property
    def text(self) -> str:
        return "".join(self._texts)

    @property
    def citations(self) -> tuple[Citation, ...]:
        return tuple(self._citations)

    @property
    def is_full(self) -> bool:
        """Whether the maximum length is reached: nothing more will be sent."""
        return self._report.is_cut_off

    @property
    def report(self) -> CheckReport:
        return replace(
            self._report,
            unknown_ids=self._parser.unknown_ids,
            malformed_markers=self._parser.malformed + self._composer.loose_openings,
        )

    @property
    def uncertainties(self) -> tuple[Uncertainty, ...]:
        """Only those about text that was sent."""
        return tuple(
            found
            for found in self._composer.uncertainties
            if found.answer_end is not None and found.answer_end <= self._length
        )

    def feed(self, text: str) -> Iterator[CheckedText]:
        """Return text that may be sent now: never part of a marker, never an unchecked quote."""
        for start in range(0, len(text), STRIDE):
            if self._left <= 0:
                self._report = replace(self._report, is_cut_off=True)
                return
            cleaned = self._cleaner.feed(text[start : start + STRIDE])
            if len(cleaned) > self._left:
                self._report = replace(self._report, is_cut_off=True)
            cleaned = cleaned[: self._left]
            self._left -= len(cleaned)
            self._buffer += self._parser.feed(cleaned)
            self._process(final=False)
            yield from self._drain(final=False)

    def finish(self) -> Iterator[CheckedText]:
        """Return the rest."""
        rest = self._cleaner.feed("", final=True)[: max(0, self._left)]
        self._buffer += self._parser.feed(rest, final=True)
        self._process(final=True)
        yield from self._drain(final=True)

    def _drain(self, *, final: bool) -> Iterator[CheckedText]:
        checked = self._composer.drain(final=final)
        if checked is not None:
            self._texts.append(checked.text)
            self._citations += checked.citations
            self._length += len(checked.text)
            yield checked

    def _process(self, *, final: bool) -> None:
        while self._buffer:
            end = self._in_fence(final) if self._in_code else self._step(final)
            if end == 0:
                return
            self._buffer = self._buffer[end:]
            self._resume = 0

    def _step(self, final: bool) -> int:
        """Write the next decided piece and return where it ends in the buffer; 0 to wait for
        more."""
        text = self._buffer
        found = _NEXT.search(text)
        if found and found["block"] and not self._begins_line(found.start()):
            found = _NEXT.search(text, found.end())
        if found is None:
            return self._up_to_fence(final)
        if found.start():
            return self._plain(text, found.start())
        if found["block"] == ">":
            return self._block_quote(final)
        if found["block"]:
            self._in_code = True
            return self._plain(text, found.end())
        return self._mark(final)

    def _begins_line(self, position: int) -> bool:
        """Whether there are only spaces before this position in its line of the buffer."""
        return self._at_line_start or "\n" in self._buffer[:position]

    def _up_to_fence(self, final: bool) -> int:
        """Return the buffer up to anything that may become a fence."""
        text = self._buffer
        held = None if final else _UNFINISHED_FENCE.search(text)
        if held and self._begins_line(held.start()):
            return self._plain(text, held.start()) if held.start() else 0
        return self._plain(text, len(text))

    def _plain(self, text: str, end: int) -> int:
        """Write text[:end], including markers."""
        for number, part in enumerate(text[:end].split(MARKER)):
            if number:
                self._composer.cite(self._parser.markers.popleft())
            if part:
                self._composer.write(part)
        line = text.rfind("\n", 0, end)
        is_blank = not text[line + 1 : end].strip(" ")
        self._at_line_start = is_blank and (line >= 0 or self._at_line_start)
        return end

    def _in_fence(self, final: bool) -> int:
        """Write a line of code. Straight quotation marks belong to the code; between others, words
        must be exact as usual, but no marker is inserted into code."""
        text = self._buffer
        end = text.find("\n", 0, MAX_CODE_LINE) + 1
        if not end and len(text) < MAX_CODE_LINE and not final:
            return 0
        end = end or min(len(text), MAX_CODE_LINE)
        fence = _FENCE.match(text)
        if fence and self._at_line_start:
            self._in_code = False
            return self._plain(text, fence.end())
        line = _CODE_QUOTATION.sub(self._in_code_exact, text[:end])
        self._plain(line, len(line))
        return end

    def _in_code_exact(self, found: regex.Match[str]) -> str:
        whole: str = found[0]
        quote: str = found[1]
        if not is_long_enough(quote):
            return whole
        checked = self._quotes.check(quote, preferred=[])
        is_exact = bool(checked.parts) and checked.is_exact
        self._count(**{"quotes_exact" if is_exact else "quotes_removed": 1})
        return whole if is_exact else quote

    def _mark(self, final: bool) -> int:
        """Handle a quotation mark, apostrophe or inch sign at the start of the buffer."""
        text = self._buffer
        before = self._composer.last_character
        if len(text) <= ELISION and not final and not before.isalnum():
            return 0
        if len(text) == 1 and not final:
            return 0
        if not opens(text, 0, before):
            return self._lone_mark(before)
        end = ending(text, 0, resume=self._resume, final=final)
        if end is Ending.UNKNOWN:
            self._resume = max(1, len(text) - ELISION - 1)
            return 0
        if isinstance(end, Ending) or not any(map(str.isalnum, text[1:end])):
            return self._lone_mark(before)
        if not is_long_enough(text[1:end]):
            return self._as_it_is(end + 1)
        marker_at = marker_after(text, end, final=final)
        if marker_at is None:
            self._resume = end
            return 0
        return self._quotation(
            text[0], text[1:end], partner(text[0], text[end]), end + 1, marker_at
        )

    def _as_it_is(self, end: int) -> int:
        """Write a short quotation or a name; markers inside move behind it, other marks are
        dropped."""
        text = self._buffer
        inner = _INNER_MARKS.sub("", text[1 : end - 1])
        markers = MARKER * inner.count(MARKER)
        closing = partner(text[0], text[end - 1]) + (f" {markers}" if markers else "")
        quotation = f"{text[0]}{inner.replace(MARKER, DROPPED)}{closing}"
        self._plain(quotation, len(quotation))
        return end

    def _lone_mark(self, before: str) -> int:
        """Drop the mark if it would look like one end of a quotation."""
        mark = self._buffer[0]
        if mark in DOUBLE_MARKS and not (mark == '"' and before.isdecimal()):
            self._composer.write(DROPPED)
            return 1
        return self._plain(self._buffer, 1)

    def _quotation(self, opening: str, quote: str, closing: str, end: int, marker_at: int) -> int:
        text = self._buffer
        queue = self._parser.markers
        inside = [queue.popleft() for _ in range(quote.count(MARKER))]
        tail = queue[0] if marker_at >= 0 else None
        hints = [name for marker in (*inside, *([tail] if tail else [])) for name in marker.ids]
        checked = self._quotes.check(quote, preferred=hints)
        if not checked.parts:
            queue.extendleft(reversed(inside))
            if checked.is_name:
                return self._as_it_is(end)
            self._count(quotes_removed=1)
            self._buffer = f"{REMOVED_START}{quote}{REMOVED_END}{text[end:]}"
            self._resume = 0
            return self._again()
        self._count(**{"quotes_exact" if checked.is_exact else "quotes_repaired": 1})
        has_words = marker_at >= 0 and any(map(str.isalnum, text[end:marker_at]))
        self._write_parts(opening, closing, checked, tail, has_words)
        if checked.punctuation and text[end : end + 1] not in tuple(".,;:!?。，"):
            self._composer.write(checked.punctuation)
        self._at_line_start = False
        return end

    def _again(self) -> int:
        """Reprocess the buffer: the text of the removed quotation may contain other marks."""
        return self._plain(self._buffer, 1)

    def _write_parts(
        self,
        opening: str,
        closing: str,
        checked: CheckedQuote,
        tail: Marker | None,
        has_words: bool,
    ) -> None:
        """Write the exact quotes, each with a marker: the existing one, or a new one."""
        for number, part in enumerate(checked.parts):
            if number:
                self._composer.write(" … ")
            quote = self._quotes.slice(part)
            span = self._composer.write_quote(opening, quote, closing)
            placed = PlacedQuote(part.start, part.end, *span)
            name = self._quotes.id_of(part)
            is_last = number == len(checked.parts) - 1
            if is_last and tail and (name in tail.ids or not has_words):
                if name not in tail.ids:
                    tail.ids[0] = name
                tail.quotes[name] = placed
            else:
                self._composer.write(" ")
                self._composer.cite(Marker([name], {name: placed}))

    def _block_quote(self, final: bool) -> int:
        text = self._buffer
        end = _BLOCK_END.search(text)
        if end is None and not final and len(text) <= MAX_BLOCK_QUOTE:
            return 0
        if end and len(text) < end.end() + 4 and not final:
            return 0
        stop = end.start() if end else len(text)
        inner = _BLOCK_LINE.sub("", text[:stop])
        quote, marker, rest = inner.partition(MARKER)
        is_quotation = is_long_enough(quote) and not any(mark in quote for mark in DOUBLE_MARKS)
        if not is_quotation or stop > MAX_BLOCK_QUOTE:
            return self._plain(text, text.index(">") + 1)
        tail = self._parser.markers[0] if marker else None
        checked = self._quotes.check(quote, preferred=tail.ids if tail else ())
        if not checked.parts:
            self._count(quotes_removed=0 if checked.is_name else 1)
            self._buffer = f"{REMOVED_START}{inner}{REMOVED_END}{text[stop:]}"
            return self._again()
        self._count(**{"quotes_exact" if checked.is_exact else "quotes_repaired": 1})
        self._write_parts("> ", "", checked, tail, has_words=False)
        self._buffer = f" {marker}{rest}{text[stop:]}" if marker else f"{rest}{text[stop:]}"
        self._at_line_start = False
        return self._again()

    def _count(self, **more: int) -> None:
        counts = {name: getattr(self._report, name) + n for name, n in more.items()}
        self._report = replace(self._report, **counts)
