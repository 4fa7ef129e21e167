"""Detect the language of a text and choose its PostgreSQL text search configuration."""

from functools import cache
from typing import TYPE_CHECKING

import regex

if TYPE_CHECKING:
    from py3langid.langid import LanguageIdentifier

UNSURE = ""
SIMPLE = "simple"

# The Snowball configurations of a stock PostgreSQL 16 to 18 (estonian came with 18 only).
CONFIGURATIONS = {
    "ar": "arabic",
    "ca": "catalan",
    "da": "danish",
    "de": "german",
    "el": "greek",
    "en": "english",
    "es": "spanish",
    "eu": "basque",
    "fi": "finnish",
    "fr": "french",
    "ga": "irish",
    "hi": "hindi",
    "hu": "hungarian",
    "hy": "armenian",
    "id": "indonesian",
    "it": "italian",
    "lt": "lithuanian",
    "nb": "norwegian",
    "ne": "nepali",
    "nl": "dutch",
    "nn": "norwegian",
    "no": "norwegian",
    "pt": "portuguese",
    "ro": "romanian",
    "ru": "russian",
    "sr": "serbian",
    "sv": "swedish",
    "ta": "tamil",
    "tr": "turkish",
    "yi": "yiddish",
}


SAMPLE = 1000  # characters, from the beginning and from the middle
MIN_LETTERS = 12  # minimum to detect a language
SURE = 0.5

# A letter of these scripts counts for two or three of an alphabet, and none borrows from another.
_ONE_LANGUAGE_SCRIPTS = {
    "ja": regex.compile(r"[\p{Hiragana}\p{Katakana}]"),
    "zh": regex.compile(r"\p{Han}"),
    "ko": regex.compile(r"\p{Hangul}"),
    "th": regex.compile(r"\p{Thai}"),
    "lo": regex.compile(r"\p{Lao}"),
    "km": regex.compile(r"\p{Khmer}"),
    "my": regex.compile(r"\p{Myanmar}"),
}
_LETTER = regex.compile(r"\p{L}")
_BEYOND_ASCII = regex.compile(r"[^\x00-\x7f]+")
_PROSE = regex.compile(r"(?<!\S)[(\"'“„«¿¡]*\p{L}[\p{L}\p{M}'’-]*+(?=[\s.,;:!?)\"'”“»؟،।]|$)")
_SAME = {"ary": "ar", "arz": "ar", "nb": "no", "nn": "no"}


def configuration(language: str) -> str:
    """Return the configuration for stemming; "english" if the language is unknown."""
    if language == UNSURE:
        return "english"
    return CONFIGURATIONS.get(language, SIMPLE)


def detect(text: str) -> str:
    """Return the ISO 639-1 code, or "" if unsure: too short, code, numbers, or similar
    languages."""
    sample = _sample(text)
    return _by_script(sample) or _by_model(" ".join(_PROSE.findall(sample)))


def _sample(text: str) -> str:
    if len(text) <= 2 * SAMPLE:
        return text
    middle = len(text) // 2
    return f"{text[:SAMPLE]} {text[middle : middle + SAMPLE]}"


def _by_script(sample: str) -> str:
    letters = len(_LETTER.findall(sample))
    beyond_ascii = "".join(_BEYOND_ASCII.findall(sample))  # contains all of these scripts
    found = {
        language: len(script.findall(beyond_ascii))
        for language, script in _ONE_LANGUAGE_SCRIPTS.items()
    }
    if not letters or sum(found.values()) < letters / 4:
        return UNSURE
    if found["ja"] > found["zh"] / 10:
        found["ja"] += found["zh"]  # Japanese is written with both
    return max(found, key=lambda language: found[language])


def _by_model(prose: str) -> str:
    if len(prose.replace(" ", "")) < MIN_LETTERS:
        return UNSURE
    language, probability = _identifier().classify(prose)
    language = _SAME.get(language, language)
    return language if probability >= SURE and len(language) == 2 else UNSURE


def detect_with_certainty(text: str) -> tuple[str, float]:
    """Return the most likely language of a text of letters, and its probability."""
    language, probability = _identifier().classify(text)
    return _SAME.get(language, language), float(probability)


def load() -> None:
    """Load the model now, for a process that cannot do so later."""
    _identifier()


@cache
def _identifier() -> "LanguageIdentifier":
    from py3langid.langid import MODEL_FILE, LanguageIdentifier  # 5 MB to unpack

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
