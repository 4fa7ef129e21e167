"""The lexical leg: chunks that share words with the question, ranked by BM25."""

import uuid
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from documents.text.languages import configuration
from documents.text.lexemes import ParsedQuery, prepare
from ragsite.database.tenancy import query_planned, query_prepared
from retrieval.requests import Candidate

from . import bm25, spelling
from .bm25 import Term
from .scope import SearchScope

# The question's lexemes under each configuration of the namespace, and how many chunks have each.
# No rows if the namespace's words have not been counted.
_ANALYSE = """
    WITH counted AS (
        SELECT chunks, configurations FROM documents_termstatistics
        WHERE namespace_id = %(namespace)s AND profile_id = %(profile)s
    ), stems AS (
        SELECT lexeme, min(positions[1]) AS position, max(cardinality(positions)) AS times,
               sum(size::bigint)::bigint AS reach
        FROM counted, jsonb_each_text(configurations) AS configuration (name, size),
             unnest(to_tsvector(name::regconfig, %(words)s))
        GROUP BY lexeme
    )
    SELECT counted.chunks, stems.lexeme, stems.position, stems.times,
           ragsite.dimension(stems.lexeme), coalesce(frequency.chunks, 0), stems.reach,
           ARRAY(SELECT phraseto_tsquery(name::regconfig, phrase)::text
                 FROM unnest(%(phrases)s::text[]) WITH ORDINALITY wanted (phrase, nth),
                      jsonb_object_keys(counted.configurations) name
                 ORDER BY nth),
           ARRAY(SELECT jsonb_object_keys(counted.configurations))
    FROM counted LEFT JOIN stems ON true
    LEFT JOIN documents_termfrequency frequency
      ON frequency.namespace_id = %(namespace)s AND frequency.profile_id = %(profile)s
     AND frequency.lexeme = stems.lexeme
    ORDER BY stems.position, stems.lexeme
"""

_EXPAND = """
    SELECT lexeme, ragsite.dimension(lexeme), chunks FROM documents_termfrequency
    WHERE namespace_id = %(namespace)s AND profile_id = %(profile)s
      AND lexeme >= %(prefix)s AND lexeme < %(prefix)s || chr(1114111)
    ORDER BY chunks DESC, lexeme LIMIT 30
"""

_CANDIDATES = """
    SELECT found.chunk_id, found.document_id, found.score
    FROM ragsite.lexical_candidates(%(wanted)s::tsquery, %(weights)s::sparsevec, %(profile)s,
                                    %(kinds)s::text[], %(documents)s::uuid[], %(depth)s) found
    {join}
    ORDER BY found.score DESC, found.chunk_id LIMIT %(limit)s
"""

_PLAIN = """
    SELECT found.chunk_id, found.document_id, found.score
    FROM ragsite.plain_candidates(%(wanted)s::tsquery, %(profile)s, %(kinds)s::text[],
                                  NULL, %(depth)s) found
    {join}
    ORDER BY found.score DESC, found.chunk_id LIMIT %(limit)s
"""

# For few documents, or few chunks of a kind: every chunk with any of the words.
_SCAN = """
    SELECT found.chunk_id, found.document_id, -(found.impacts <#> %(weights)s::sparsevec)
    FROM {few} passing (id) CROSS JOIN LATERAL (
        SELECT terms.chunk_id, terms.document_id, terms.impacts FROM documents_chunkterms terms
        WHERE terms.{key} = passing.id
          AND terms.namespace_id = %(tenant)s AND terms.profile_id = %(profile)s
          AND terms.search_vector @@ %(wanted)s::tsquery
          AND (%(kinds)s::text[] IS NULL OR terms.kind = ANY (%(kinds)s::text[]))
        OFFSET 0
    ) found {join}
    ORDER BY found.impacts <#> %(weights)s::sparsevec, found.chunk_id LIMIT %(limit)s
"""

_CHUNKS_OF_KINDS = """
    (SELECT id FROM documents_chunk WHERE namespace_id = %(tenant)s
     AND profile_id = %(profile)s AND kind = ANY (%(kinds)s::text[]))
"""

EXTRA_BUDGET_FACTOR = 4  # factor on the budget, to find more candidates than `enough`
# Maximum factor on the budget that compensates for a filter.
MAX_WIDENING = 4
# The same where the documents that pass are listed: of the chunks found by words, only theirs are
# read and scored.
MAX_LISTED_WIDENING = 6
# A filter is joined to the function's result, which is this many times larger than needed. If too
# little passes, everything is returned.
DEPTH = 2
EVERYTHING = 1_000_000


@dataclass(frozen=True, slots=True)
class LexicalQuery:
    """The words of the question as indexed."""

    terms: tuple[Term, ...]
    phrases: str  # tsquery of all quoted phrases; "" if none
    exclusions: str  # tsquery that rejects excluded words; "" if none
    chunks: int  # in the namespace, when words were last counted
    configurations: tuple[str, ...]  # text search configurations of the namespace
    notes: tuple[str, ...] = ()  # about corrected words
    respelt: str = ""  # the question with corrections; "" if none

    @property
    def weights(self) -> str:
        return bm25.sparse(self.terms)

    @property
    def required(self) -> str:
        """A tsquery of phrases and exclusions; "" if none."""
        return " & ".join(filter(None, [self.phrases, self.exclusions]))


def analyse(
    query: ParsedQuery, *, namespace_id: uuid.UUID, profile_id: uuid.UUID
) -> LexicalQuery | None:
    """Analyse the question; None if the namespace's words were never counted. Inside
    namespace()."""
    words = prepare(query.text, query=True)
    phrases = [*query.phrases, *query.excluded]
    rows = query_prepared(
        _ANALYSE,
        {
            "namespace": namespace_id,
            "profile": profile_id,
            "words": f"{words.running} {words.extras}",
            "phrases": [prepare(phrase).running for phrase in phrases],
        },
    )
    if not rows:
        return None
    total, found, configurations = rows[0][0], rows[0][7], rows[0][8]
    by_position: dict[int, list[tuple[str, int, int]]] = {}
    times: Counter[int] = Counter()
    # A word that only one language keeps, because it is a stop word elsewhere, is weighed among the
    # chunks of that language. Among all chunks "the" would seem rare because of one French note.
    reach: Counter[int] = Counter()
    for _, lexeme, position, often, dimension, chunks, chunks_of_its_languages, *_ in rows:
        if lexeme is not None:
            by_position.setdefault(position, []).append((lexeme, dimension, chunks))
            times[position] = max(often, times[position])
            reach[position] += chunks_of_its_languages
    by_word = {
        position: _term(forms, min(total, reach[position]), times[position])
        for position, forms in by_position.items()
    }
    typed = dict(enumerate(words.running.split(), start=1))
    corrected = spelling.corrections(
        query,
        _unknown(by_word, typed),
        namespace_id=namespace_id,
        profile_id=profile_id,
        configurations=configurations,
    )
    for position, word in typed.items():
        if position in by_word and word in corrected:
            reached = min(total, reach[position])
            by_word[position] = _guessed(corrected[word], reached, times[position])
    # Other spellings are guesses: those that no document uses are dropped.
    terms = [term for position, term in by_word.items() if term.chunks or position in typed]
    for prefix in query.prefixes:
        terms.append(_expanded(prefix, namespace_id, profile_id, total))
    forms = len(configurations)
    wanted, unwanted = found[: len(query.phrases) * forms], found[len(query.phrases) * forms :]
    return LexicalQuery(
        tuple(terms),
        phrases=" & ".join(_either(wanted, forms)),
        exclusions=" & ".join(f"!{each}" for each in _either(unwanted, forms)),
        chunks=total,
        configurations=tuple(configurations),
        notes=tuple(correction.note for correction in corrected.values()),
        respelt=spelling.respelt(query.text, corrected.values()),
    )


def find(
    question: LexicalQuery,
    *,
    profile_id: uuid.UUID,
    scope: SearchScope,
    limit: int,
    budget: int,
    enough: int | None = None,
) -> list[Candidate]:
    """Return candidates with lexical score and rank. Inside namespace().

    Scores about `budget` chunks first. If that finds too few, because the words rarely occur
    together or a filter removes most, it scores more: as many as needed to find `enough`, and up to
    a few times the budget to reach `limit`.
    """
    if not question.terms:
        return []
    if scans_each_chunk(scope, budget):
        return _found(*scan_each_chunk(question, profile_id=profile_id, scope=scope, limit=limit))
    budget = wider(budget, scope)
    step = bm25.choose_share(question.terms, total=question.chunks, budget=budget)
    depth = int(limit * DEPTH / max(scope.share, 0.001))
    is_listed = scope.documents is not None
    is_joined = bool(scope.condition) and not is_listed
    statement = _CANDIDATES.format(join=scope.join("found") if is_joined else "")
    while True:
        wanted = bm25.candidates_query(question.terms, share=bm25.SHARES[step])
        parameters = _parameters(question, wanted, profile_id, scope, limit)
        found = _found(statement, {**parameters, "depth": depth if is_joined else limit})
        is_all = step == 0 and (depth == EVERYTHING or not is_joined)
        if len(found) >= limit or is_all:
            return found
        step, depth = max(0, step - 2), EVERYTHING
        more = bm25.expected(question.terms, step=step, total=question.chunks)
        if len(found) >= (enough or limit) and more > EXTRA_BUDGET_FACTOR * budget:
            return found


def scans_each_chunk(scope: SearchScope, budget: int) -> bool:
    """Whether there are so few chunks that scanning each is cheaper than finding them by words. It
    unpacks the words of each, which costs many times as much as finding it in the index."""
    if scope.documents is None and (not scope.kinds or scope.through_index):
        return False
    return scope.chunks <= 2 * budget


def wider(budget: int, scope: SearchScope) -> int:
    """Return the budget before a filter that leaves `budget` after it, up to a limit."""
    most = MAX_WIDENING if scope.documents is None else MAX_LISTED_WIDENING
    return int(budget / max(scope.share, 1 / most))


def restricted(question: LexicalQuery, query: str) -> str:
    """Add the required phrases and the exclusions to a tsquery."""
    return f"({query}) & {question.required}" if question.required else query


def find_plainly(
    query: ParsedQuery, *, profile_id: uuid.UUID, scope: SearchScope, limit: int, language: str
) -> list[Candidate]:
    """Use PostgreSQL's own ranking, for a namespace whose words have not been counted."""
    words = prepare(query.text, query=True)
    stems = query_planned(
        "SELECT lexeme FROM unnest(to_tsvector(%(configuration)s::regconfig, %(words)s))",
        {
            "configuration": configuration(language),
            "words": f"{words.running} {words.extras}",
        },
    )
    if not stems:
        return []
    wanted = " | ".join(bm25.quoted(lexeme) for (lexeme,) in stems)
    return _found(
        _PLAIN.format(join=scope.join("found")),
        {
            **scope.parameters,
            "wanted": wanted,
            "profile": profile_id,
            "kinds": list(scope.kinds) or None,
            "depth": EVERYTHING if scope.condition else limit,
            "limit": limit,
        },
    )


def _term(forms: Sequence[tuple[str, int, int]], total: int, times: int = 1) -> Term:
    """A word that occurs twice in the question counts twice: long questions repeat what matters."""
    chunks = sum(count for *_, count in forms)
    return Term(
        lexemes=tuple(lexeme for lexeme, *_ in forms),
        dimensions=tuple(dimension for _, dimension, _ in forms),
        chunks=chunks,
        weight=times * bm25.weight(chunks, total=total),
    )


def _unknown(by_word: Mapping[int, Term], typed: Mapping[int, str]) -> dict[str, Term]:
    """Return typed words that no document contains, unless they are half of one ("data base")."""
    others = [term for position, term in by_word.items() if position not in typed and term.chunks]
    joined = " ".join(lexeme for term in others for lexeme in term.lexemes)
    return {
        typed[position]: term
        for position, term in by_word.items()
        if position in typed and not term.chunks and typed[position] not in joined
    }


def _guessed(correction: spelling.Correction, total: int, times: int) -> Term:
    forms = [(guess.lexeme, guess.dimension, guess.chunks) for guess in correction.guesses]
    term = _term(forms, total, times)
    return replace(term, weight=bm25.GUESS_WEIGHT * term.weight, is_guess=True)


def _expanded(prefix: str, namespace_id: uuid.UUID, profile_id: uuid.UUID, total: int) -> Term:
    """Return all words that start with a prefix, as one term."""
    start = prepare(prefix).running.replace(" ", "")
    whose = {"namespace": namespace_id, "profile": profile_id}
    forms = query_planned(_EXPAND, {**whose, "prefix": start})
    term = _term(forms, total)
    return Term((start,), term.dimensions, term.chunks, term.weight, is_prefix=True)


def _either(queries: Sequence[str], forms: int) -> list[str]:
    """Match each phrase under any configuration, skipping phrases of stop words only."""
    phrases = (queries[start : start + forms] for start in range(0, len(queries), forms or 1))
    each = ([text for text in phrase if text] for phrase in phrases)
    return ["(" + " | ".join(f"({text})" for text in texts) + ")" for texts in each if texts]


def scan_each_chunk(
    question: LexicalQuery, *, profile_id: uuid.UUID, scope: SearchScope, limit: int
) -> tuple[str, dict[str, Any]]:
    """Return the statement that scans each chunk of the scope, and its parameters."""
    few, key, join = _CHUNKS_OF_KINDS, "chunk_id", scope.join("found")
    if scope.documents is not None:
        few, key, join = "unnest(%(documents)s::uuid[])", "document_id", ""
    wanted = bm25.candidates_query(question.terms, share=0)
    parameters = _parameters(question, wanted, profile_id, scope, limit)
    return _SCAN.format(few=few, key=key, join=join), parameters


def _parameters(
    question: LexicalQuery, wanted: str, profile_id: uuid.UUID, scope: SearchScope, limit: int
) -> dict[str, Any]:
    return {
        **scope.parameters,
        "wanted": restricted(question, wanted),
        "weights": question.weights,
        "profile": profile_id,
        "kinds": list(scope.kinds) or None,
        "documents": scope.documents,
        "limit": limit,
    }


def _found(statement: str, parameters: dict[str, Any]) -> list[Candidate]:
    return [
        Candidate(chunk_id, document_id, lexical=float(score), lexical_rank=rank)
        for rank, (chunk_id, document_id, score) in enumerate(
            query_planned(statement, parameters), start=1
        )
    ]
