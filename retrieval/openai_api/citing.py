"""Citations as OpenAI's clients show them: numbers in the text, and annotations with their
positions.

The pipeline writes `[cite:ID]`; readers of a chat see `[1]`, `[2]`. A number belongs to one cited
span of one document, in the order of first appearance. All offsets count code points.
"""

import re
import uuid
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from documents.pages.links import passage_url
from retrieval.answering.requests import CheckedText, Citation
from retrieval.api.hit_shapes import ids_of
from retrieval.memory.linking import fact_url
from retrieval.requests import Hit

_MARKER = re.compile(r"\[cite:([^\]\s]+)\]")
# Markers behind the last cell of a table's row, and the bar that closes this cell.
_BEHIND_ROW = re.compile(
    r"(?m)(?P<row>^[ \t]*\|[^\n]*?)(?P<bar>[ \t]*\|)(?P<markers>(?:[ \t]*\[cite:[^\]\s]+\])+)"
    r"(?=[ \t]*$)"
)
_NUMBER = re.compile(r"[ \t]?\[\d{1,3}\]")


def without_numbers(text: str) -> str:
    """Return an earlier answer without its citation numbers, which have no meaning in the next
    one."""
    return _NUMBER.sub("", text)


@dataclass(frozen=True, slots=True)
class CitationTarget:
    """What a number links to. Titles are distinct, because Open WebUI identifies sources by
    them."""

    number: int
    url: str
    title: str


@dataclass(frozen=True, slots=True)
class NumberedCitation:
    target: CitationTarget
    citation: Citation
    start: int  # of the number, `[1]`, in the text that the client gets
    end: int
    claim_start: int  # of what it supports there
    claim_end: int

    @property
    def place(self) -> dict[str, Any]:
        """The additional fields of every annotation: the exact quote and its position."""
        hit = self.citation.evidence.hit
        ids = ids_of(hit)
        return {
            "quote": self.citation.cited_text,
            "span": {"start": self.citation.start, "end": self.citation.end},
            "answer_span": {"start": self.claim_start, "end": self.claim_end},
            "document_id": ids["document_id"],
            "document_version": ids["document_version"],
            "fact": hit.fact,
            "page": self.citation.page_start,
            "section": hit.section,
            "source_uri": hit.source_uri,
        }


class CitationNumbers:
    """Replaces the markers of one answer by numbers; takes its pieces in order."""

    def __init__(self, namespace_id: uuid.UUID, *, base_url: str) -> None:
        self._namespace_id, self._base_url = namespace_id, base_url
        self._targets: dict[tuple[uuid.UUID, int, int, int], CitationTarget] = {}
        self._titles: set[str] = set()
        self._read = self._written = 0  # characters
        # positions of each marker: in the answer, in the converted text
        self._ends: list[tuple[int, int]] = [(0, 0)]
        self._last = 0  # the number directly before, if there is one

    def feed(self, checked: CheckedText) -> tuple[str, tuple[NumberedCitation, ...]]:
        """Return the text with numbers for markers, and the citation of each."""
        checked = _inside_cells(checked, begins=self._read)
        parts: list[str] = []
        placed: list[tuple[CitationTarget, Citation, int, int]] = []
        for text, citation in _pieces(checked):
            self._skip(text)
            parts.append(text)
            if citation is None:
                continue
            target = self._target(citation)
            is_repeated = target.number == self._last
            shown = "" if is_repeated else f"[{target.number}]"
            start = self._written
            self._mark(citation.id, shown, target.number)
            parts.append(shown)
            if not is_repeated:
                placed.append((target, citation, start, self._written))
        return "".join(parts), tuple(
            NumberedCitation(target, citation, start, end, *map(self._moved, _claim(citation)))
            for target, citation, start, end in placed
        )

    def _skip(self, text: str) -> None:
        self._read += len(text)
        self._written += len(text)
        if text:
            self._last = 0

    def _mark(self, id_: str, shown: str, number: int) -> None:
        self._read += len(f"[cite:{id_}]")
        self._written += len(shown)
        self._ends.append((self._read, self._written))
        self._last = number

    def _moved(self, position: int) -> int:
        """Convert a position in the pipeline's text to one in the converted text."""
        before, now = self._ends[bisect_right(self._ends, (position, self._written)) - 1]
        return min(now + position - before, self._written)

    def _target(self, citation: Citation) -> CitationTarget:
        hit = citation.evidence.hit
        key = hit.candidate.document_id, hit.document_version, citation.start, citation.end
        if key not in self._targets:
            url = self._url(citation)
            self._targets[key] = CitationTarget(len(self._targets) + 1, url, self._title(hit))
        return self._targets[key]

    def _url(self, citation: Citation) -> str:
        hit = citation.evidence.hit
        if hit.fact is not None:
            return fact_url(self._namespace_id, hit.fact, base_url=self._base_url)
        return passage_url(
            namespace_id=self._namespace_id,
            document_id=hit.candidate.document_id,
            version=hit.document_version,
            start=citation.start,
            end=citation.end,
            base_url=self._base_url,
        )

    def _title(self, hit: Hit) -> str:
        whole = title = title_of(hit)
        count = 1
        while whole in self._titles:
            count += 1
            whole = f"{title} ({count})"
        self._titles.add(whole)
        return whole


def title_of(hit: Hit) -> str:
    """The document's title and the last heading above the passage."""
    title = hit.title or hit.source_uri
    heading = hit.section.rsplit(" > ", 1)[-1]
    named = f"{title} – {heading}" if heading and heading != title else title
    return f"{named}, page {hit.page}" if hit.page is not None else named


def _inside_cells(checked: CheckedText, *, begins: int) -> CheckedText:
    """Move the markers behind a table's row into its last cell: what stands behind the last bar
    is a cell too many, and readers of Markdown leave it out. No other offset changes."""
    citations = checked.citations
    for row in _BEHIND_ROW.finditer(checked.text):
        last, end = begins + row.end("row"), begins + row.end()
        citations = tuple(
            replace(one, answer_end=last) if last < one.answer_end <= end else one
            for one in citations
        )
    moved = _BEHIND_ROW.sub(r"\g<row>\g<markers>\g<bar>", checked.text)
    return replace(checked, text=moved, citations=citations)


def _pieces(checked: CheckedText) -> Iterator[tuple[str, Citation | None]]:
    """Yield text with the citation whose marker follows it. Every marker has a citation."""
    waiting = list(checked.citations)
    position = 0
    for marker in _MARKER.finditer(checked.text):
        citation = next((one for one in waiting if one.id == marker[1]), None)
        if citation is None:
            continue
        waiting.remove(citation)
        yield checked.text[position : marker.start()], citation
        position = marker.end()
    yield checked.text[position:], None


def _claim(citation: Citation) -> tuple[int, int]:
    return citation.answer_start, citation.answer_end
