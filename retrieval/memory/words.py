"""The words of a question in the form that facts have them, and how rare they are among the
facts."""

import uuid
from collections.abc import Sequence
from typing import Any

from django.contrib.postgres.search import SearchQuery
from django.db.models import Case, FloatField, Q, QuerySet, Value, When

from documents.models import Fact
from documents.text.languages import configuration
from documents.text.lexemes import prepare
from ragsite.database.tenancy import query_prepared
from retrieval.candidates import bm25
from retrieval.candidates.bm25 import Term

# As written, and stemmed in the namespace's language, without stop words.
_ANALYSE = """
    SELECT form.positions[1], array_agg(DISTINCT form.lexeme), bool_or(name = %(language)s)
    FROM unnest(ARRAY['simple', %(language)s]) AS name,
         unnest(to_tsvector(name::regconfig, %(words)s)) AS form
    GROUP BY form.positions[1] ORDER BY form.positions[1]
"""
_COUNT = """
    SELECT (SELECT count(*) FROM (SELECT FROM documents_fact
                                  WHERE namespace_id = %(namespace)s LIMIT %(most)s) any_fact),
           ARRAY(SELECT (SELECT count(*) FROM (
                             SELECT FROM documents_fact WHERE namespace_id = %(namespace)s
                             AND words @@ wanted.query::tsquery LIMIT %(most)s) holding)
                 FROM unnest(%(queries)s::text[]) WITH ORDINALITY wanted (query, nth)
                 ORDER BY nth)
"""
MAX_COUNTED = 5000  # words with more facts are common enough
FEW_FACTS = 20  # with fewer facts, no word counts as rarer than among this many


def terms_of(namespace_id: uuid.UUID, query: str, language: str) -> list[Term]:
    """Return the question's words with their weights. Inside namespace()."""
    words = prepare(query, query=True)
    rows = query_prepared(
        _ANALYSE,
        {"language": configuration(language), "words": f"{words.running} {words.extras}"},
    )
    typed = len(words.running.split())
    forms = [(position, tuple(lexemes)) for position, lexemes, is_kept in rows if is_kept]
    queries = [_any_of(lexemes) for _, lexemes in forms]
    parameters = {"namespace": namespace_id, "most": MAX_COUNTED, "queries": queries}
    ((total, counts),) = query_prepared(_COUNT, parameters)
    total = max(total, FEW_FACTS)
    return [
        Term(lexemes, (), count, bm25.weight(count, total=total))
        for (position, lexemes), count in zip(forms, counts, strict=True)
        if count or position <= typed  # other spellings are guesses: only those that exist are used
    ]


def _any_of(lexemes: Sequence[str]) -> str:
    return " | ".join(bm25.quoted(lexeme) for lexeme in lexemes)


def scored(facts: QuerySet[Fact], terms: Sequence[Term]) -> QuerySet[Any]:
    """Annotate facts with `lexical`: the weight of the question's words that they contain."""
    parts: list[Any] = [
        Case(
            When(_holds(_any_of(term.lexemes)), then=Value(term.weight)),
            default=Value(0.0),
            output_field=FloatField(),
        )
        for term in terms
    ]
    return facts.annotate(lexical=sum(parts[1:], parts[0]))


def holding_any(facts: QuerySet[Fact], terms: Sequence[Term]) -> QuerySet[Fact]:
    return facts.filter(_holds(" | ".join(_any_of(term.lexemes) for term in terms)))


def _holds(wanted: str) -> Q:
    return Q(words=SearchQuery(wanted, search_type="raw", config="simple"))
