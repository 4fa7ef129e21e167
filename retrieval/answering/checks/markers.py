"""Find `[cite:ID]` markers in text as it arrives, in all the forms that models write.

Each marker is replaced by one placeholder character, so that the next steps can process text and
markers together. Text that may become a marker is held back.
"""

from collections import deque
from collections.abc import Collection
from dataclasses import dataclass, field

import regex

# Private use characters; cleaning.py removes those of a model.
MARKER = "\ue000"  # replaces a marker; its ids are in the parser's queue
DROPPED = "\ue001"  # replaces a dropped marker
REMOVED_START, REMOVED_END = "\ue002", "\ue003"  # around a removed quotation

MAX_BODY = 200  # characters between `[cite:` and `]`
MAX_IDS = 20  # per marker
OPENING_BRACKETS, CLOSING_BRACKETS = "[【［〔", "]】］〕"
_OPENING = regex.compile(
    r"\\?[\[【［〔]\^?(?:\s?\\?[\[【［〔])?+\s{0,3}+cites?+(?:\s{0,3}+[:：=]|(?=[\]】］〕†|,\s]))",
    regex.IGNORECASE,
)
_BODY_END = regex.compile(r"[\[\]【】［］〔〕\n]")
_START = regex.compile(r"\\?[\[【［〔]|\\$")
_PART = regex.compile(r"[^\s,;，、；|&+]+")
_ID = regex.compile(r"[\p{L}\p{N}_-]+")
_PREFIX = regex.compile(r"^(?:cite\s*[:：=]|id\s*[:：=]|#|\^|[\"'“‘`*_]+)+", regex.IGNORECASE)
# `[cite:ab12, p. 3]`, `[cite:ab12 lines 3-5]`, `[cite:a1 and b2]`: words that are not ids.
_NO_ID = regex.compile(
    r"(?:and|und|et|y|or|pp?|pages?|lines?|l|s|section|sec|§)?\.?\s*[L§]?\d*(?:[-–]L?\d+)?",
    regex.IGNORECASE,
)
_ADJACENT_ID = regex.compile(r"[\p{L}\p{N}_-]{1,40}+")

CANONICAL = regex.compile(r"\s*\[cite:[^\]]*\]")


@dataclass(slots=True)
class Marker:
    ids: list[str]  # known ids, in order, without repeats
    quotes: dict[str, "PlacedQuote"] = field(default_factory=dict)  # by id; set by the quote check


@dataclass(frozen=True, slots=True)
class PlacedQuote:
    """An exact quote: its position in the answer and in its passage."""

    start: int  # in the passage
    end: int
    answer_start: int  # of the first character between the quotation marks
    answer_end: int


def canonical(evidence_id: str) -> str:
    return f"[cite:{evidence_id}]"


class MarkerParser:
    def __init__(self, known_ids: Collection[str]) -> None:
        self.markers: deque[Marker] = deque()
        self.unknown_ids = 0
        self.malformed = 0
        self._known = {known: known for known in known_ids}
        lowered: dict[str, str] = {}
        for known in known_ids:
            lowered[known.lower()] = "" if known.lower() in lowered else known
        self._lowered = {low: known for low, known in lowered.items() if known}
        self._held = ""

    def feed(self, text: str, *, final: bool = False) -> str:
        """Return the text that can be passed on now, with placeholders."""
        text = self._held + text
        parts: list[str] = []
        position = 0
        while found := _START.search(text, position):
            parts.append(text[position : found.start()])
            end, replacement = self._marker_at(text, found.start(), final=final)
            if end < 0:
                position = found.start()
                break
            parts.append(replacement)
            position = end
        else:
            parts.append(text[position:])
            position = len(text)
        self._held = text[position:]
        return "".join(parts)

    def _marker_at(self, text: str, start: int, *, final: bool) -> tuple[int, str]:
        """Return where to continue and the replacement; (-1, "") if more text is needed."""
        opening = _OPENING.match(text, start, partial=not final)
        if opening is None:
            return start + 1, text[start]
        if opening.partial:
            return -1, ""
        body_start = opening.end()
        stop = _BODY_END.search(text, body_start, body_start + MAX_BODY)
        if stop is None and not final and len(text) < body_start + MAX_BODY:
            return -1, ""
        if stop is None or stop[0] not in CLOSING_BRACKETS:
            self.malformed += 1
            adjacent = _ADJACENT_ID.match(text, body_start)
            return adjacent.end() if adjacent else body_start, DROPPED
        end = stop.end()
        brackets = sum(character in OPENING_BRACKETS for character in opening[0])
        if brackets > 1:
            if end == len(text) and not final:
                return -1, ""
            end += text[end : end + 1] in tuple(CLOSING_BRACKETS)
        return end, self._read(text[body_start : stop.start()].rstrip("\\"))

    def _read(self, body: str) -> str:
        ids: list[str] = []
        unknown = 0
        for part in _PART.findall(body)[:MAX_IDS]:
            written = _PREFIX.sub("", part)
            found = _ID.match(written)
            name = found[0] if found else ""
            known = self._known.get(name) or self._lowered.get(name.lower(), "")
            if known:
                if known not in ids:
                    ids.append(known)
            elif not _NO_ID.fullmatch(written) or not (ids or unknown):
                unknown += bool(name)
        self.unknown_ids += unknown
        if not ids and not unknown:
            self.malformed += 1
        if not ids:
            return DROPPED
        self.markers.append(Marker(ids))
        return MARKER


def without_markers(text: str) -> str:
    """Return the text without its canonical markers, e.g. an earlier turn of a conversation."""
    return str(CANONICAL.sub("", text))
