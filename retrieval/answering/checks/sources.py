"""Find the sentence of a passage that best supports a claim, and make citations from it."""

from collections.abc import Sequence
from itertools import pairwise

from documents.text.boundaries import Span, item_spans, line_spans, paragraph_spans, trimmed
from documents.text.sentences import sentence_spans
from retrieval.answering.requests import Citation, Evidence

from .markers import PlacedQuote
from .words import content_stems, tokens

SHORT_PASSAGE = 600  # characters; cited whole if no sentence stands out
MIN_GAIN = 0.2  # fraction of the claim that a neighbouring sentence must add


class Source:
    """A passage with its sentences, which are found only once."""

    def __init__(self, evidence: Evidence, *, language: str) -> None:
        self.evidence = evidence
        self._language = evidence.hit.language or language
        self._sentences: list[tuple[Span, frozenset[str]]] | None = None

    def citation(self, claim: str, span: Span, quote: PlacedQuote | None = None) -> Citation:
        """`span` is the claim's position in the answer."""
        start, end = (quote.start, quote.end) if quote else self._best(claim)
        hit = self.evidence.hit
        return Citation(
            id=self.evidence.id,
            evidence=self.evidence,
            cited_text=self.evidence.text[start:end],
            start=hit.start + start,
            end=hit.start + end,
            answer_start=span[0],
            answer_end=span[1],
            is_quote=quote is not None,
            page_start=hit.page,
            page_end=hit.page_end or hit.page,
        )

    def _best(self, claim: str) -> Span:
        sentences = self._split()
        wanted = content_stems(tokens(claim))
        total = sum(wanted.values()) or 1.0

        def share(words: frozenset[str]) -> float:
            return sum(wanted.get(word, 0.0) for word in words & wanted.keys()) / total

        shares = [share(words) for _, words in sentences]
        best = max(range(len(shares)), key=lambda n: (shares[n], -n))
        text = self.evidence.text
        if shares[best] == 0:
            return trimmed(text, 0, len(text)) if len(text) <= SHORT_PASSAGE else sentences[0][0]
        span, gain = sentences[best][0], MIN_GAIN
        for first, second in pairwise(range(max(0, best - 1), min(len(sentences), best + 2))):
            together = share(sentences[first][1] | sentences[second][1])
            if together - shares[best] >= gain:
                span = sentences[first][0][0], sentences[second][0][1]
                gain = together - shares[best] + 1e-9
        return span

    def _split(self) -> list[tuple[Span, frozenset[str]]]:
        if self._sentences is None:
            text = self.evidence.text
            spans = passage_spans(text, language=self._language) or [trimmed(text, 0, len(text))]
            self._sentences = [
                (span, frozenset(content_stems(tokens(text[slice(*span)])))) for span in spans
            ]
        return self._sentences


def passage_spans(text: str, *, language: str) -> list[Span]:
    """Return the sentences of prose and lists, and the rows of tables."""
    spans: list[Span] = []
    for paragraph in paragraph_spans(text, 0, len(text)):
        if text[slice(*paragraph)].lstrip().startswith("|"):
            spans += line_spans(text, *paragraph)
            continue
        for start, end in item_spans(text, *paragraph):
            found = sentence_spans(text[start:end], language=language)
            spans += [(start + low, start + high) for low, high in found]
    return spans


def sources_by_id(evidence: Sequence[Evidence], *, language: str) -> dict[str, Source]:
    """Blank passages are left out: they support nothing."""
    return {item.id: Source(item, language=language) for item in evidence if item.text.strip()}
