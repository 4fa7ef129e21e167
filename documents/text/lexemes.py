"""The words of a text as the full-text index stores them; the same for texts and queries."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

import regex

from documents.text.folding import DOT, INVISIBLE, UNSPACED, folded
from documents.text.query_syntax import ParsedQuery, parse_query

__all__ = ["ParsedQuery", "Word", "Words", "analysed", "parse_query", "prepare", "word_spans"]

MAX_WORD = 255  # characters; PostgreSQL's limit is 2046 bytes, and a character has up to four
MAX_JOINED_CHARACTERS = 64
MAX_JOINED_PIECES = 8
FEW_WORDS = 5  # a query this short may be one compound, written apart

# ASCII first: most text is ASCII, and the other classes are slow.
_LETTER = rf"[A-Za-z0-9[[\p{{L}}\p{{N}}]--{UNSPACED}]]"
_INSIDE = rf"[A-Za-z0-9[[\p{{L}}\p{{N}}\p{{M}}{INVISIBLE}]--{UNSPACED}]]"
_PIECE = rf"{_LETTER}{_INSIDE}*+(?:\+\+(?![\p{{L}}+])|(?<=\b[A-Za-z])\#(?!\w))?"
_TIGHT = r"_++|[-.'’&·‐‑]|(?<=\p{Nd}),(?=\p{Nd})"
_LOOSE = r"[/\\:@]++"
_JOINT = rf"(?:{_TIGHT}|{_LOOSE})"
_COMPOUND = regex.compile(
    rf"""
    (?P<plain>(?:[A-Za-z][a-z]*+|[A-Z]++|[0-9]++)(?!{_INSIDE}|{_JOINT}{_LETTER}|\+\+|\#))
    | (?P<unspaced>{UNSPACED}[{UNSPACED}\p{{M}}{INVISIBLE}]*+)
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
    r"\p{Lu}{2,}+s(?!\p{Ll})|\p{Lu}+(?=\p{Lu}\p{Ll})"
    rf"|\p{{Lu}}?[\p{{Ll}}\p{{M}}{INVISIBLE}]+|\p{{Lu}}+|\p{{N}}+|[^\p{{Lu}}\p{{Ll}}\p{{N}}]+"
)
_APOSTROPHES = ("'", "’")
_ENCLITICS = frozenset({"s", "t", "d", "m", "ll", "re", "ve"})
_NUMBER = re.compile(r"(?<!\d)\d+(?:[.,]\d+)+")
_GROUPED = re.compile(r"\d{1,3}(?:[.,]\d{3})+")
_SYMBOLS = {"+": "plusplus", "#": "sharp"}


@dataclass(frozen=True, slots=True)
class Words:
    """`running`: the words of the text in order, for phrases. `extras`: other spellings of them."""

    running: str
    extras: str


class Word(NamedTuple):
    """A word as indexed, and its position: content[start:end] is the original spelling."""

    text: str
    start: int
    end: int
    extra: bool = False


class _Piece(NamedTuple):
    """A part of a compound as written, and the joint between it and the previous part."""

    text: str
    start: int
    end: int
    joint: str
    loose: bool


def prepare(text: str, *, query: bool = False) -> Words:
    """Return the words for to_tsvector. Extras come after the running words, outside any phrase.

    A query also gets its neighbouring words joined, so that "node js" finds "nodejs".
    """
    between_spaces = [
        _prepared(token) if len(token) <= MAX_JOINED_CHARACTERS else _prepared.__wrapped__(token)
        for token in text.split()
    ]
    running = " ".join([words.running for words in between_spaces if words.running])
    extras = [words.extras for words in between_spaces if words.extras]
    return Words(running, " ".join([*extras, *_neighbours_joined(text)] if query else extras))


@lru_cache(maxsize=32768)
def _prepared(token: str) -> Words:
    """Cached per space-separated token: no word spans two, and most tokens recur."""
    found = list(analysed(token))
    return Words(
        " ".join(word.text for word in found if not word.extra),
        " ".join(word.text for word in found if word.extra),
    )


def _neighbours_joined(text: str) -> list[str]:
    running = [word for word in analysed(text) if not word.extra]
    if len(running) > FEW_WORDS:
        return []
    return [
        one.text + two.text
        for one, two in pairwise(running)
        if text[one.end : two.start].isspace() and not (one.text + two.text).isdecimal()
    ]


def word_spans(content: str) -> Iterator[tuple[str, int, int]]:
    """Yield every word of `prepare(content)`, running or extra, with its exact span."""
    for word in analysed(content):
        yield word.text, word.start, word.end


def analysed(text: str) -> Iterator[Word]:
    """Yield running words in order, each compound followed by its extras."""
    for found in _COMPOUND.finditer(text):
        written, offset, kind = found.group(), found.start(), found.lastgroup or ""
        if kind == "plain":
            yield Word(written[:MAX_WORD].lower(), offset, found.end())
            continue
        analyse = _words_of if len(written) <= MAX_JOINED_CHARACTERS else _words_of.__wrapped__
        for word in analyse(written, kind):
            yield Word(word.text, offset + word.start, offset + word.end, word.extra)


@lru_cache(maxsize=16384)
def _words_of(written: str, kind: str) -> tuple[Word, ...]:
    match kind:
        case "unspaced":
            return tuple(_grams(written))
        case "dotnet":
            return Word("net", 1, 4), Word("dotnet", 0, 4, extra=True)
        case _:
            return tuple(_compound(written))


def _grams(run: str) -> Iterator[Word]:
    """Yield characters as running words, so that any phrase matches, and pairs as extras for
    ranking."""
    units = [
        Word(text, *found.span()) for found in _UNITS.finditer(run) if (text := folded(found[0]))
    ]
    yield from units
    for one, two in pairwise(units):
        yield Word(one.text + two.text, one.start, two.end, extra=True)


def _compound(compound: str) -> Iterator[Word]:
    pieces = [
        _Piece(
            found["piece"],
            found.start("piece"),
            found.end("piece"),
            found["tight"] or found["loose"] or "",
            found["loose"] is not None,
        )
        for found in _PIECES.finditer(compound)
    ]
    pieces = [piece for piece in pieces if not _is_enclitic(piece)]
    for piece in pieces:
        yield from _single(piece)
    if len(pieces) > 1:
        yield from _numbers(compound)
        yield from _joined(pieces)


def _is_enclitic(piece: _Piece) -> bool:
    return piece.joint in _APOSTROPHES and piece.text.lower() in _ENCLITICS


def _single(piece: _Piece) -> Iterator[Word]:
    """Yield the piece itself, and as extras its parts if camelCase or digits divide it."""
    if text := _spelt(piece.text):
        yield Word(text, piece.start, piece.end)
    parts = [found for found in _PARTS.finditer(piece.text) if found.group()[0].isalnum()]
    if 1 < len(parts) <= MAX_JOINED_PIECES:
        for part in parts:
            start, end = part.span()
            if end - start > 1 and (text := folded(part.group())):
                yield Word(text[:MAX_WORD], piece.start + start, piece.start + end, extra=True)


def _spelt(piece: str) -> str:
    word = folded(piece[: 2 * MAX_WORD].rstrip("+#"))[:MAX_WORD]
    return word + _SYMBOLS.get(piece[-1], "")


def _joined(pieces: list[_Piece]) -> Iterator[Word]:
    """Yield each tight group (default.conf) as one word, and the whole compound
    (etc/default.conf)."""
    groups: list[list[_Piece]] = []
    for piece in pieces:
        if piece.loose or not groups:
            groups.append([])
        groups[-1].append(piece)
    if len(groups) > 1:
        groups.append(pieces)
    for group in groups:
        if 1 < len(group) <= MAX_JOINED_PIECES and (text := _in_one(group)):
            yield Word(text, group[0].start, group[-1].end, extra=True)


def _in_one(group: list[_Piece]) -> str:
    written = "".join(piece.joint + piece.text for piece in group)[len(group[0].joint) :]
    if len(written) > MAX_JOINED_CHARACTERS or _NUMBER.fullmatch(written.lower().removeprefix("v")):
        return ""
    text = _spelt(group[0].text)
    for before, piece in pairwise(group):
        in_number = before.text[-1].isdecimal() and piece.text[0].isdecimal()
        dot = DOT if in_number and piece.joint in (".", ",") else ""
        text += dot + _spelt(piece.text)
    return text


def _numbers(compound: str) -> Iterator[Word]:
    """Yield numbers as words: 10,000 as 10000, the 2.1.3 of v2.1.3, the 3.5 of 3.5GB."""
    for found in _NUMBER.finditer(compound):
        between = "" if _GROUPED.fullmatch(found.group()) else DOT
        text = folded(re.sub("[.,]", between, found.group()))
        if len(text) <= MAX_JOINED_CHARACTERS:
            yield Word(text, *found.span(), extra=True)
