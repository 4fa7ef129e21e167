"""What must hold for the events of every answer, whoever wrote it."""

import re
from collections.abc import Iterator, Sequence

from documents.models import Namespace
from evaluation.runs.citation_audit import MARKER, unequal_citations, unknown_markers
from retrieval.answering.requests import (
    AnswerEvent,
    AnswerResult,
    Event,
    SourcesEvent,
    TextEvent,
)

CODE = re.compile(r"^ {0,3}```.*?(?:^ {0,3}```|\Z)", re.DOTALL | re.MULTILINE)  # not searched
# The first quotation of a line, where no other mark makes it doubtful what is quoted.
QUOTE = re.compile(r"^[^„“”\"«»「」『』‘’']*“([^„“”\"«»「」『』]{25,})”", re.MULTILINE)


def wrong_with(tenant: Namespace, events: Sequence[Event], failure: str) -> Iterator[str]:
    """What may not be, in words. `failure`: the code of the error that ended the answer."""
    sources = [event for event in events if isinstance(event, SourcesEvent)]
    texts = [event.checked for event in events if isinstance(event, TextEvent)]
    results = [event.result for event in events if isinstance(event, AnswerEvent)]
    if len(results) != (0 if failure else 1) or (results and events[-1].__class__ != AnswerEvent):
        yield f"{len(results)} results and failure {failure!r}"
    if events and not isinstance(events[0], SourcesEvent):
        yield "something before the sources"
    known = {item.id for event in sources for item in event.evidence}
    citations = [citation for text in texts for citation in text.citations]
    if unequal := unequal_citations(tenant.pk, citations):
        yield f"not the stored text: {unequal[0].cited_text!r}"
    for text in texts:
        if strangers := set(MARKER.findall(text.text)) - known:
            yield f"unknown ids: {strangers}"
        if re.search(r"\[\s*cite", MARKER.sub("", text.text), re.IGNORECASE):
            yield f"a part of a marker: {text.text!r}"
    for result in results:
        yield from wrong_with_result(tenant, result, "".join(text.text for text in texts))


def wrong_with_result(tenant: Namespace, result: AnswerResult, streamed: str) -> Iterator[str]:
    if streamed != result.text:
        yield f"streamed {streamed!r}, but the answer is {result.text!r}"
    if unequal_citations(tenant.pk, result.citations):
        yield "the result cites what is not stored"
    if strangers := unknown_markers(result):
        yield f"markers without a citation: {strangers}"
    for citation in result.citations:
        if not 0 <= citation.answer_start <= citation.answer_end <= len(result.text):
            yield f"a span outside of the answer: {citation.answer_start}, {citation.answer_end}"
        if citation.is_quote and citation.cited_text not in result.text:
            yield f"a quote that the answer does not hold: {citation.cited_text!r}"
    for quote in QUOTE.findall(CODE.sub("", MARKER.sub("", result.text))):
        if result.is_answered and not any(quote in item.text for item in result.evidence):
            yield f"a quote that no source holds: {quote!r} in {result.text!r}"
