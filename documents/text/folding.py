"""Unicode folding for search: which characters separate words, and which are equivalent."""

import unicodedata
from functools import lru_cache

import regex

# A letter for PostgreSQL's parser that occurs in no word: 2.1.3 becomes 2ꞏ1ꞏ3, not 21.3.
DOT = "ꞏ"
FRACTION_SLASH = "\u2044"  # from the decomposition of ½
# NFKC decomposes these vowels, and half of each would attach to the previous character.
THAI_AM = ("\u0e4d\u0e32", "\u0e33")
LAO_AM = ("\u0ecd\u0eb2", "\u0eb3")
# Invisible: soft hyphen, joiners, direction marks, byte order mark, Arabic tatweel.
INVISIBLE = "\u00ad\u200c\u200d\u200e\u200f\u2060\ufeff\u0640"
# A set for the regex module: scripts without spaces between words (Korean has some).
UNSPACED = (
    r"[[\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
    r"\u30FC\uFF70\uFF9E\uFF9F]--\p{Nd}]"
)

_ARABIC_AND_HEBREW_POINTS = [
    *range(0x064B, 0x0660), 0x0670, *range(0x06D6, 0x06DD), *range(0x06DF, 0x06E5),
    *range(0x06E7, 0x06E9), *range(0x06EA, 0x06EE), *range(0x0591, 0x05BE), 0x05BF,
    0x05C1, 0x05C2, 0x05C4, 0x05C5, 0x05C7,
]  # fmt: skip
_SAME = str.maketrans(
    dict.fromkeys(INVISIBLE)
    | {chr(point): None for point in _ARABIC_AND_HEBREW_POINTS}
    | dict(zip("ςёیکøłđðı", "σеيكolddi", strict=True))
    | {"ß": "ss", "æ": "ae", "œ": "oe", "þ": "th", FRACTION_SLASH: DOT}
)
_STRESS = regex.compile(r"(?<=\p{Cyrillic})[\u0300\u0301]+")
_FOREIGN_DIGIT = regex.compile(r"[\p{Nd}--[0-9]]", regex.VERSION1)
_NO_WORD = regex.compile(r"^[^\p{L}\p{N}]+|[^\p{L}\p{N}\p{M}]+")
_ACCENTED = regex.compile(r"([\p{Latin}\p{Greek}])\p{M}+")


@lru_cache(maxsize=16384)
def folded(word: str) -> str:
    """Return the word in lower case and compatibility form, without accents, with digits 0-9.

    Keeps only letters, digits, and marks that make a different letter in their script (й, हिन्दी).
    """
    if word.isascii():
        return word.lower()
    word = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", word).lower())
    word = word.replace(*THAI_AM).replace(*LAO_AM)
    word = _FOREIGN_DIGIT.sub(
        lambda digit: str(unicodedata.decimal(digit[0], digit[0])), word.translate(_SAME)
    )
    word = _STRESS.sub("", unicodedata.normalize("NFC", _NO_WORD.sub("", word)))
    return unicodedata.normalize("NFC", _ACCENTED.sub(r"\1", unicodedata.normalize("NFD", word)))
