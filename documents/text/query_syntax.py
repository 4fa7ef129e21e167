"""Parse query syntax: phrases in quotes, -exclusions and prefixes (auth*)."""

from dataclasses import dataclass
from typing import Final

import regex

from documents.text.folding import UNSPACED, folded

MAX_WORDS_OUTSIDE_QUOTES = 12  # with more, the query is a sentence with ordinary quotation marks
MIN_PREFIX = 4  # characters; shorter prefixes match half the vocabulary and are slow

_LETTER = rf"[[\p{{L}}\p{{N}}\p{{M}}]--{UNSPACED}]"
# An inch or minute sign (5") opens no phrase; 「 may open one in the middle of a sentence.
_QUOTED = rf"""
    (?<!{_LETTER})"(?P<q>[^"]+)"
    | [“„”](?P<q>[^“„”"]+)[“”"]
    | «(?P<q>[^«»]+)» | »(?P<q>[^«»]+)«
    | 「(?P<q>[^「」]+)」 | 『(?P<q>[^『』]+)』 | ＂(?P<q>[^＂]+)＂
"""
# -v, -5 and --flag are ordinary words.
_WORD = rf"(?:\p{{L}}(?:\p{{L}}|\+\+|\#)|{UNSPACED})[^\s\"“„«「『]*"
_EXCLUDED = rf"(?<!\S)-(?:{_QUOTED}|(?P<word>{_WORD}))"
_SYNTAX = regex.compile(rf"(?P<excluded>{_EXCLUDED}) | {_QUOTED}", regex.VERBOSE | regex.VERSION1)
_PREFIX = regex.compile(
    rf"(?<!{_LETTER})({_LETTER}{{{MIN_PREFIX},}}+)\*(?![\p{{L}}\p{{N}}*])", regex.VERSION1
)
_SHORT_PREFIX = regex.compile(
    rf"(?<!{_LETTER})({_LETTER}{{1,{MIN_PREFIX - 1}}}+)\*(?![\p{{L}}\p{{N}}*])", regex.VERSION1
)
_HAS_WORD = regex.compile(r"[\p{L}\p{N}]")

ONLY_EXCLUSIONS: Final = (
    "only_exclusions: a query that only excludes says nothing to look for, so its words were "
    "searched for instead; add what you are looking for"
)
PREFIX_TOO_SHORT: Final = (
    "prefix_too_short: {prefixes} searched for as a plain word; a prefix needs at least "
    f"{MIN_PREFIX} characters before the asterisk"
)


@dataclass(frozen=True, slots=True)
class ParsedQuery:
    """The parts of a query, as typed, except prefixes, which are folded like words.

    `text` contains every word to search for, including those of phrases and prefixes. A sentence
    with quotation marks has no phrases: few of the texts that answer it contain the same quotation.
    """

    text: str
    phrases: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()
    prefixes: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()  # messages about syntax that was ignored

    @property
    def is_all_phrases(self) -> bool:
        return self.text == " ".join(self.phrases)


def parse_query(query: str) -> ParsedQuery:
    """Never fails: anything that is not syntax is text. If only exclusions remain, they are
    searched for."""
    phrases: list[str] = []
    excluded: list[str] = []
    kept: list[str] = []
    position = 0
    for found in _SYNTAX.finditer(query):
        words = found["q"] or found["word"] or ""
        kept.append(query[position : found.start()])
        position = found.end()
        if not _HAS_WORD.search(words):
            kept.append(found.group())
        elif found["excluded"]:
            excluded.append(words)
        else:
            phrases.append(words)
            kept.append(f" {words} ")
    text = "".join([*kept, query[position:]])
    if len(text.split()) - len(" ".join(phrases).split()) > MAX_WORDS_OUTSIDE_QUOTES:
        phrases = []
    notes = []
    if excluded and not _HAS_WORD.search(text):
        text, excluded = " ".join([text, *excluded]), []
        notes.append(ONLY_EXCLUSIONS)
    if short := _SHORT_PREFIX.findall(text):
        quoted = ", ".join(f"{prefix}*" for prefix in dict.fromkeys(short))
        notes.append(PREFIX_TOO_SHORT.format(prefixes=quoted))
    return ParsedQuery(
        " ".join(_PREFIX.sub(r"\1", text).split()),
        tuple(" ".join(phrase.split()) for phrase in phrases),
        tuple(" ".join(words.split()) for words in excluded),
        tuple(folded(prefix) for prefix in _PREFIX.findall(text)),
        tuple(notes),
    )
