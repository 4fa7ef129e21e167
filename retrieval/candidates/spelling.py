"""Spelling correction: replace a word that no document contains by the closest known words.

Every form of the word with one letter changed is stemmed and looked up by key in the namespace's
terms, so the cost does not grow with the vocabulary, and no extension or memory is needed. Only a
long word with two mistakes is compared with the terms that start like it.
"""

import re
import string
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from documents.text.folding import folded
from documents.text.lexemes import ParsedQuery, prepare
from documents.text.vocabulary import is_common
from ragsite.database.tenancy import current_connection

from .bm25 import Term

MIN_LENGTH = 4  # letters; a shorter word is close to too many others
MIN_LENGTH_FOR_REPLACING = 5  # a changed letter in a shorter word makes another word
MIN_LENGTH_FOR_TWO = 8  # letters; minimum for two mistakes
MIN_STEM_FOR_TWO = 6
MAX_WORDS = 6  # per question; with more unknown words it is a pasted log
MAX_GUESSES = 3
MAX_COMPARED = 2000  # most frequent terms with the same beginning
SAME_BEGINNING = 2  # letters
MAX_ACRONYM = 5  # capitals

_STEM = "…"  # shown where only the beginning of the word is known

_ALPHABETS = (
    string.ascii_lowercase,
    "".join(map(chr, range(ord("а"), ord("я") + 1))),
    "".join(map(chr, range(ord("α"), ord("ω") + 1))),
)
# A word of letters only, perhaps in quotation marks or brackets. Anything with digits or signs
# (ERR_42, --flag, user@host, file.txt) is intentional.
_PLAIN = re.compile(r"[\"'“‘(\[¿¡]*([^\W\d_]+)(?:['’]s)?[.,;:!?…)\]\"'”’]*")

_ONE_MISTAKE = """
    SELECT asked.nth, stem.lexeme, ragsite.dimension(stem.lexeme), frequency.chunks,
           stem.positions
    FROM unnest(%(forms)s::text[]) WITH ORDINALITY asked (forms, nth)
    CROSS JOIN unnest(%(configurations)s::text[]) name
    CROSS JOIN LATERAL unnest(to_tsvector(name::regconfig, asked.forms)) stem
    JOIN documents_termfrequency frequency
      ON frequency.namespace_id = %(namespace)s AND frequency.profile_id = %(profile)s
     AND frequency.lexeme = stem.lexeme
    ORDER BY frequency.chunks DESC, stem.lexeme
"""

_ALIKE = """
    SELECT lexeme, ragsite.dimension(lexeme), chunks FROM documents_termfrequency
    WHERE namespace_id = %(namespace)s AND profile_id = %(profile)s
      AND lexeme >= %(beginning)s AND lexeme < %(beginning)s || chr(1114111)
      AND length(lexeme) BETWEEN %(length)s - 2 AND %(length)s + 2
    ORDER BY chunks DESC, lexeme LIMIT %(limit)s
"""

# Counts may be older than the newest documents. A function is used because row-level security keeps
# the application role from using the index of words.
_IN_USE = """
    SELECT asked.nth FROM unnest(%(wanted)s::text[]) WITH ORDINALITY asked (wanted, nth)
    WHERE EXISTS (SELECT 1 FROM ragsite.plain_candidates(
        asked.wanted::tsquery, %(profile)s, NULL, NULL, 1))
"""


@dataclass(frozen=True, slots=True)
class Guess:
    """A known word close to an unknown one."""

    lexeme: str
    dimension: int
    chunks: int
    shown: str  # the usual spelling


@dataclass(frozen=True, slots=True)
class Correction:
    typed: str
    guesses: tuple[Guess, ...]

    @property
    def note(self) -> str:
        words = " and ".join(f"'{guess.shown}'" for guess in self.guesses)
        return f"spelling: '{self.typed}' is not in any document; looked for {words} instead"


def respelt(text: str, corrected: Iterable[Correction]) -> str:
    """Return the text with each misspelt word replaced by its most frequent guess; "" if
    unchanged."""
    changed = text
    for correction in corrected:
        best = correction.guesses[0].shown
        if not best.endswith(_STEM):
            changed = re.sub(rf"\b{re.escape(correction.typed)}\b", best, changed)
    return changed if changed != text else ""


def corrections(
    query: ParsedQuery,
    unknown: Mapping[str, Term],
    *,
    namespace_id: uuid.UUID,
    profile_id: uuid.UUID,
    configurations: Sequence[str],
) -> dict[str, Correction]:
    """Return what to search for instead of each word that no document has. Inside namespace()."""
    if not unknown:
        return {}
    typed = _correctable(query)
    words = [word for word in unknown if word in typed][:MAX_WORDS]
    if not words:
        return {}
    whose = {"namespace": namespace_id, "profile": profile_id}
    guesses = _one_mistake(words, configurations, whose)
    for word in words:
        if word not in guesses and len(word) >= MIN_LENGTH_FOR_TWO:
            guesses[word] = _two_mistakes(unknown[word].lexemes, whose)
    guesses = {word: found for word, found in guesses.items() if found}
    in_use = _in_use({word: unknown[word] for word in guesses}, profile_id)
    return {
        word: Correction(typed[word], tuple(found[:MAX_GUESSES]))
        for word, found in guesses.items()
        if word not in in_use
    }


def _correctable(query: ParsedQuery) -> dict[str, str]:
    """Return words that may be misspelt, as indexed and as typed. Common words, quoted phrases,
    prefixes, numbers, identifiers and acronyms are never corrected."""
    literal = {
        word for text in (*query.phrases, *query.prefixes) for word in prepare(text).running.split()
    }
    found = {}
    for token in query.text.split():
        match = _PLAIN.fullmatch(token)
        if match is None or len(match[1]) < MIN_LENGTH:
            continue
        typed, word = match[1], folded(match[1])
        is_acronym = typed.isupper() and len(typed) <= MAX_ACRONYM
        is_camel_case = not typed.isupper() and not typed[1:].islower()
        is_meant = word in literal or is_acronym or is_camel_case or is_common(word)
        if not is_meant and _alphabet(word):
            found[word] = typed
    return found


def _one_mistake(
    words: Sequence[str], configurations: Sequence[str], whose: Mapping[str, uuid.UUID]
) -> dict[str, list[Guess]]:
    forms = [list(_forms(word)) for word in words]
    with current_connection().cursor() as cursor:
        cursor.execute(
            _ONE_MISTAKE,
            {
                **whose,
                "forms": [" ".join(each) for each in forms],
                "configurations": list(configurations),
            },
        )
        rows = cursor.fetchall()
    guesses: dict[str, dict[str, Guess]] = {}
    for nth, lexeme, dimension, chunks, positions in rows:
        written = [forms[nth - 1][position - 1] for position in positions]
        shown = next(filter(is_common, written), written[0])
        of_word = guesses.setdefault(words[nth - 1], {})
        of_word.setdefault(lexeme, Guess(lexeme, dimension, chunks, shown))
    return {word: list(of_word.values()) for word, of_word in guesses.items()}


def _forms(word: str) -> Iterator[str]:
    """Return all forms with one letter missing, added, replaced, or two swapped. The first letter
    is hardly ever wrong, so it only swaps with the second."""
    letters = _alphabet(word)
    splits = [(word[:at], word[at:]) for at in range(1, len(word) + 1)]
    if len(word) > MIN_LENGTH:
        yield from (left + right[1:] for left, right in splits if right)
    yield from (word[:at] + word[at + 1] + word[at] + word[at + 2 :] for at in range(len(word) - 1))
    if len(word) >= MIN_LENGTH_FOR_REPLACING:
        yield from (
            left + letter + right[1:] for left, right in splits if right for letter in letters
        )
    yield from (left + letter + right for left, right in splits for letter in letters)


def _two_mistakes(lexemes: Sequence[str], whose: Mapping[str, uuid.UUID]) -> list[Guess]:
    found = []
    for stem in (lexeme for lexeme in lexemes if len(lexeme) >= MIN_STEM_FOR_TWO):
        with current_connection().cursor() as cursor:
            cursor.execute(
                _ALIKE,
                {
                    **whose,
                    "beginning": stem[:SAME_BEGINNING],
                    "length": len(stem),
                    "limit": MAX_COMPARED,
                },
            )
            rows = cursor.fetchall()
        found += [
            Guess(lexeme, dimension, chunks, f"{lexeme}{_STEM}")
            for lexeme, dimension, chunks in rows
            if distance(stem, lexeme) <= 2
        ]
    return sorted(set(found), key=lambda guess: -guess.chunks)


def distance(one: str, two: str) -> int:
    """Return the number of letters to insert, delete, replace or swap to turn one into the
    other."""
    before: list[int] = []
    row = list(range(len(two) + 1))
    for i, letter in enumerate(one, start=1):
        before, last, row = row, before, [i]
        for j, other in enumerate(two, start=1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (letter != other))
            if i > 1 and j > 1 and letter == two[j - 2] and one[i - 2] == other:
                cost = min(cost, last[j - 2] + 1)
            row.append(cost)
    return row[-1]


def _in_use(terms: Mapping[str, Term], profile_id: uuid.UUID) -> set[str]:
    if not terms:
        return set()
    words = list(terms)
    wanted = [terms[word].as_query() for word in words]
    with current_connection().cursor() as cursor:
        cursor.execute(_IN_USE, {"wanted": wanted, "profile": profile_id})
        return {words[nth - 1] for (nth,) in cursor.fetchall()}


def _alphabet(word: str) -> str:
    """Return the alphabet of its first letter; "" for scripts we do not know."""
    return next((letters for letters in _ALPHABETS if word[:1] in letters), "")
