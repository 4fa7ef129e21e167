"""The words of a text as the checks compare them: folded, with positions and weights."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

import regex

from documents.text.folding import UNSPACED, folded

# A number with its separators is one token; so is a word hyphenated at a line end, and each
# character of a script without spaces.
_TOKEN = regex.compile(
    rf"""
    (?P<number>\p{{Nd}}++(?:[.,:/'’\-−]\p{{Nd}}++)*+)
    | (?P<unspaced>{UNSPACED})
    | (?P<word>[\p{{L}}\p{{M}}--{UNSPACED}](?:[\p{{L}}\p{{M}}\p{{N}}\u00ad\u200c\u200d--{UNSPACED}]
      |-\n[ \t]*+(?=\p{{Ll}}))*+)
    | (?P<sign>[%‰$€£¥°])
    """,
    regex.VERBOSE | regex.VERSION1,
)
_HYPHENATION = regex.compile(r"-\n[ \t]*")
STEM_LENGTH = 6  # "warranties" and "warranty" have the same stem
FUNCTION_WORD_WEIGHT = 0.35

_ENGLISH = """
    a an the and or but nor if so as at by for from in into of off on onto out over per than that
    then there these this those to under until up upon via with within without is are was were be
    been being am do does did done has have had having will would shall should can could may might
    must it its they them their he him his she her we us our you your i my me who whom whose which
    what when where why how not no also only very such other some any each all both more most
"""
_GERMAN = """
    der die das den dem des ein eine einer einem einen eines und oder aber wenn weil dass daß als
    wie an am auf aus bei beim bis durch für gegen im in ins mit nach ohne seit über um unter vom
    von vor zu zum zur ist sind war waren sein wird werden wurde wurden hat haben hatte kann können
    soll sollen muss müssen es er sie wir ihr ich sich nicht kein keine auch nur noch so
"""
_FRENCH = """
    le la les un une des du de et ou mais si que qui quoi dont où au aux à en dans par pour sur
    sous avec sans est sont était être été a ont avait il elle ils elles on nous vous je ce cet
    cette ces son sa ses leur leurs ne pas plus
"""
_SPANISH = """
    el los las una unos unas del al y o pero con sin sobre para por es son era fue ser ha han había
    se su sus lo este esta estos estas ese esa no más como
"""
FUNCTION_WORDS = frozenset(
    folded(word) for words in (_ENGLISH, _GERMAN, _FRENCH, _SPANISH) for word in words.split()
)


@dataclass(frozen=True, slots=True)
class Token:
    text: str  # folded
    start: int
    end: int
    is_number: bool

    @property
    def weight(self) -> float:
        return FUNCTION_WORD_WEIGHT if self.text in FUNCTION_WORDS else 1.0


def tokens(text: str) -> list[Token]:
    return [
        Token(
            folded(_HYPHENATION.sub("", found[0])) or found[0].lower(),
            found.start(),
            found.end(),
            found.lastgroup == "number",
        )
        for found in _TOKEN.finditer(text)
    ]


@lru_cache(maxsize=16384)
def stem(word: str) -> str:
    """Crude on purpose: the project's real stemmers are in PostgreSQL."""
    if len(word) > STEM_LENGTH:
        return word[:STEM_LENGTH]
    if len(word) > 4 and word.endswith("es"):
        return word[:-2]
    return word[:-1] if len(word) > 3 and word[-1] in "se" else word


def content_stems(found: Iterable[Token]) -> dict[str, float]:
    """Return stems of the meaningful words, with weights; numbers count double. Characters of
    scripts without spaces are paired."""
    stems: dict[str, float] = {}
    before: Token | None = None
    for token in found:
        if token.is_number:
            stems[token.text] = 2.0
        elif token.end - token.start == 1 and ord(token.text[0]) > 0x0E00:
            if before is not None and before.end == token.start:
                stems[before.text[-1] + token.text] = 1.0
        elif token.text not in FUNCTION_WORDS and len(token.text) > 1:
            stems[stem(token.text)] = 1.0
        before = token
    return stems
