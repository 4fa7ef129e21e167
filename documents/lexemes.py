"""The words of a text as the full-text index should see them; the same for text and query."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import regex

from documents.folding import DOT, INVISIBLE, folded, normalised
from documents.query_syntax import ParsedQuery, parse_query

__all__ = ["ParsedQuery", "Word", "Words", "analysed", "parse_query", "prepare", "word_spans"]

LONGEST_WORD = 255  # characters; PostgreSQL takes 2046 bytes, and a character has at most four
LONGEST_JOIN = 64
MOST_JOINED = 8
FEW_WORDS = 5  # a query as short as this may be one compound, spelt apart

_UNSPACED = (
    r"\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
    r"\u30FC\uFF70\uFF9E\uFF9F"
)
_LETTER = rf"[[\p{{L}}\p{{N}}]--[{_UNSPACED}]]"
_INSIDE = rf"[[\p{{L}}\p{{N}}\p{{M}}{INVISIBLE}]--[{_UNSPACED}]]"
_PIECE = rf"{_LETTER}{_INSIDE}*+(?:\+\+(?![\p{{L}}+])|(?<=\b[A-Za-z])\#(?!\w))?"
_TIGHT = r"_++|[-.'’&·‐‑]|(?<=\p{Nd}),(?=\p{Nd})"
_LOOSE = r"[/\\:@]++"
_JOINT = rf"(?:{_TIGHT}|{_LOOSE})"
_COMPOUND = regex.compile(
    rf"""
    (?P<plain>(?:[A-Za-z][a-z]*+|[A-Z]++|[0-9]++)(?!{_INSIDE}|{_JOINT}{_LETTER}|\+\+|\#))
    | (?P<unspaced>[{_UNSPACED}][{_UNSPACED}\p{{M}}{INVISIBLE}]*+)
    | (?P<dotnet>(?<![\p{{L}}\p{{N}}])\.(?i:net)(?!{_INSIDE}|{_JOINT}{_LETTER}))
    | (?P<compound>{_PIECE}(?:{_JOINT}{_PIECE})*+)
    """,
    regex.VERBOSE | regex.VERSION1,
)
_PIECES = regex.compile(
    rf"(?:(?P<tight>{_TIGHT})|(?P<loose>{_LOOSE}))?+(?P<piece>{_PIECE})", regex.VERSION1
)
_UNITS = regex.compile(rf".[\p{{M}}\uFF9E\uFF9F{INVISIBLE}]*+", regex.DOTALL)
# DNAs | HTTP(Server) | User, user | ID | 42 | letters without case
_PARTS = regex.compile(
    r"\p{Lu}{2,}+s(?!\p{Ll})|\p{Lu}++(?<=\p{Lu}(?=\p{Lu}))|\p{Lu}+(?=\p{Lu}\p{Ll})"
    r"|\p{Lu}?[\p{Ll}\p{M}]+|\p{Lu}+|\p{N}+|[^\p{Lu}\p{Ll}\p{N}]+"
)
_APOSTROPHES = ("'", "’")
_ENCLITICS = frozenset({"s", "t", "d", "m", "ll", "re", "ve"})
_NUMBER = re.compile(r"(?<!\d)\d+(?:[.,]\d+)+")
_GROUPED = re.compile(r"\d{1,3}(?:[.,]\d{3})+")
STEMMED_WITH_ACCENTS: frozenset[str] = frozenset()
_SYMBOLS = {"+": "plusplus", "#": "sharp"}


@dataclass(frozen=True, slots=True)
class Words:
    """`running`: the text's words in order, for phrases. `extras`: other ways to write them."""

    running: str
    extras: str


@dataclass(frozen=True, slots=True)
class Word:
    """A word as indexed, and where it stands: content[start:end] is what was written."""

    text: str
    start: int
    end: int
    extra: bool = False


@dataclass(frozen=True, slots=True)
class _Piece:
    """A part of a compound, as written, and what joins it to the one before."""

    text: str
    start: int
    end: int
    joint: str
    loose: bool


def prepare(text: str, *, language: str = "en", query: bool = False) -> Words:
    """The words for to_tsvector. Extras go behind the running words, where no phrase meets them.

    A query gets one thing more: neighbours joined, so that "node js" finds "nodejs".
    """
    found = list(analysed(text, language=language))
    running = [word for word in found if not word.extra]
    extras = [word.text for word in found if word.extra]
    if query and len(running) <= FEW_WORDS:
        extras += [
            one.text + two.text
            for one, two in pairwise(running)
            if text[one.end : two.start].isspace() and not (one.text + two.text).isdecimal()
        ]
    return Words(" ".join(word.text for word in running), " ".join(extras))


def word_spans(content: str, *, language: str = "en") -> Iterator[tuple[str, int, int]]:
    """Every word of `prepare(content)`, running or extra, with its exact span in the content."""
    for word in analysed(content, language=language):
        yield word.text, word.start, word.end


def analysed(text: str, *, language: str = "en") -> Iterator[Word]:
    """Running and extra words in the order in which they begin."""
    keep_accents = language in STEMMED_WITH_ACCENTS
    for found in _COMPOUND.finditer(text):
        match found.lastgroup:
            case "plain":
                yield Word(found.group()[:LONGEST_WORD].lower(), *found.span())
            case "unspaced":
                yield from _grams(found.group(), found.start())
            case "dotnet":
                yield Word("net", found.start() + 1, found.end())
                yield Word("dotnet", found.start(), found.end(), extra=True)
            case _:
                yield from _compound(found.group(), found.start(), keep_accents)


def _grams(run: str, offset: int) -> Iterator[Word]:
    """Characters run, so that phrases of any length match; pairs of them are extras, to rank by."""
    units = [
        Word(text, offset + found.start(), offset + found.end())
        for found in _UNITS.finditer(run)
        if (text := normalised(found.group()))
    ]
    yield from units
    for one, two in pairwise(units):
        yield Word(one.text + two.text, one.start, two.end, extra=True)


def _compound(compound: str, offset: int, keep_accents: bool) -> Iterator[Word]:
    pieces = [
        _Piece(
            found["piece"],
            offset + found.start("piece"),
            offset + found.end("piece"),
            found["tight"] or found["loose"] or "",
            found["loose"] is not None,
        )
        for found in _PIECES.finditer(compound)
    ]
    pieces = [piece for piece in pieces if not _is_enclitic(piece)]
    for piece in pieces:
        yield from _single(piece, keep_accents)
    if len(pieces) > 1:
        yield from _numbers(compound, offset)
        yield from _joined(pieces)


def _is_enclitic(piece: _Piece) -> bool:
    return piece.joint in _APOSTROPHES and piece.text.lower() in _ENCLITICS


def _single(piece: _Piece, keep_accents: bool) -> Iterator[Word]:
    """The piece itself; as extras its form without accents and its parts in camelCase."""
    text = _spelt(piece.text)
    plain = folded(text)
    if text:
        yield Word(text if keep_accents else plain, piece.start, piece.end)
    if keep_accents and plain != text:
        yield Word(plain, piece.start, piece.end, extra=True)
    parts = [found for found in _PARTS.finditer(piece.text) if found.group()[0].isalnum()]
    if 1 < len(parts) <= MOST_JOINED:
        for part in parts:
            start, end = part.span()
            if end - start > 1 and (text := folded(normalised(part.group()))):
                yield Word(text[:LONGEST_WORD], piece.start + start, piece.start + end, extra=True)


def _spelt(piece: str) -> str:
    if piece[-1] in _SYMBOLS:
        return normalised(piece.rstrip("+#"))[:LONGEST_WORD] + _SYMBOLS[piece[-1]]
    return normalised(piece)[:LONGEST_WORD]


def _joined(pieces: list[_Piece]) -> Iterator[Word]:
    """Each close group (default.conf) in one word, and all of it (etc/default.conf) too."""
    groups: list[list[_Piece]] = []
    for piece in pieces:
        if piece.loose or not groups:
            groups.append([])
        groups[-1].append(piece)
    if len(groups) > 1:
        groups.append(pieces)
    for group in groups:
        if 1 < len(group) <= MOST_JOINED and (text := _in_one(group)):
            yield Word(text, group[0].start, group[-1].end, extra=True)


def _in_one(group: list[_Piece]) -> str:
    written = "".join(piece.joint + piece.text for piece in group)[len(group[0].joint) :]
    if len(written) > LONGEST_JOIN or _NUMBER.fullmatch(written.lower().removeprefix("v")):
        return ""
    text = folded(_spelt(group[0].text))
    for before, piece in pairwise(group):
        in_number = before.text[-1].isdecimal() and piece.text[0].isdecimal()
        dot = DOT if in_number and piece.joint in (".", ",") else ""
        text += dot + folded(_spelt(piece.text))
    return text


def _numbers(compound: str, offset: int) -> Iterator[Word]:
    """10,000 is 10000; the 2.1.3 of v2.1.3 and the 3.5 of 3.5GB are words of their own."""
    for found in _NUMBER.finditer(compound):
        between = "" if _GROUPED.fullmatch(found.group()) else DOT
        text = normalised(re.sub("[.,]", between, found.group()))
        if len(text) <= LONGEST_JOIN:
            yield Word(text, offset + found.start(), offset + found.end(), extra=True)


_BETWEEN_WORDS = re.compile(r"[\W_]+")


def words(text: str) -> str:
    """Only letters and digits, single-spaced.

    PostgreSQL's parser takes `ERR-1234` for a number and `foo.bar` for a host name; without the
    punctuation they are words, findable by their parts.
    """
    return _BETWEEN_WORDS.sub(" ", text).strip()
