"""Find the question's words in a passage, in any inflected form."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from documents.text.lexemes import word_spans
from ragsite.database.tenancy import current_connection
from retrieval.candidates.lexical import LexicalQuery
from retrieval.requests import Highlight, Hit

# A stemmer changes word endings, so only words that begin like one of the question's can match.
SAME_BEGINNING = 3

_MATCHING = """
    SELECT DISTINCT word
    FROM unnest(%(words)s::text[]) word, unnest(%(configurations)s::text[]) name,
         unnest(to_tsvector(name::regconfig, word)) stem
    WHERE stem.lexeme = ANY (%(lexemes)s::text[])
"""


def highlighted(hits: Sequence[Hit], question: LexicalQuery) -> list[Hit]:
    """Return the hits with the spans of their matching words, in the document's text."""
    lexemes = [lexeme for term in question.terms for lexeme in term.lexemes if not term.is_prefix]
    prefixes = tuple(term.lexemes[0] for term in question.terms if term.is_prefix)
    beginnings = {lexeme[:SAME_BEGINNING] for lexeme in lexemes}
    words = [list(word_spans(hit.content)) for hit in hits]
    likely = {word for found in words for word, *_ in found if word[:SAME_BEGINNING] in beginnings}
    matching = _matching(likely, lexemes, question.configurations)
    return [
        replace(
            hit,
            highlights=_spans(
                (
                    Highlight(hit.start + start, hit.start + end)
                    for word, start, end in found
                    if word in matching or (prefixes and word.startswith(prefixes))
                ),
            ),
        )
        for hit, found in zip(hits, words, strict=True)
    ]


def _matching(
    words: set[str], lexemes: Sequence[str], configurations: Sequence[str]
) -> frozenset[str]:
    if not words:
        return frozenset()
    with current_connection().cursor() as cursor:
        cursor.execute(
            _MATCHING,
            {
                "words": sorted(words),
                "configurations": list(configurations),
                "lexemes": list(lexemes),
            },
        )
        return frozenset(row[0] for row in cursor.fetchall())


def _spans(spans: Iterable[Highlight]) -> tuple[Highlight, ...]:
    """Return spans in order, merging overlaps (a compound and its part)."""
    merged: list[Highlight] = []
    for span in sorted(spans, key=lambda span: (span.start, -span.end)):
        if merged and span.start < merged[-1].end:
            merged[-1] = Highlight(merged[-1].start, max(merged[-1].end, span.end))
        else:
            merged.append(span)
    return tuple(merged)
