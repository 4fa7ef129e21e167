"""The words by which a question and a sentence are compared."""

from collections.abc import Iterator
from functools import lru_cache

import regex

from documents.text.folding import UNSPACED, folded
from documents.text.lexemes import analysed
from retrieval.answering.question.function_words import FUNCTION_WORDS
from retrieval.answering.values.number_words import NUMBERS

from .further_words import FURTHER_FUNCTION_WORDS, UNSPACED_FUNCTION_WORDS

STEM_LENGTH = 6  # words are compared by their beginning, as good as Snowball here in any language
_UNSPACED_FUNCTION_WORDS = frozenset(UNSPACED_FUNCTION_WORDS.split())
_FUNCTION_WORDS = {
    language: frozenset(map(folded, words))
    for language, words in (
        *FUNCTION_WORDS.items(),
        *((code, text.split()) for code, text in FURTHER_FUNCTION_WORDS.items()),
    )
}
_IN_ANY_LANGUAGE = frozenset[str]().union(*_FUNCTION_WORDS.values())
# "five" in a question matches "5" in a table. "one" is mostly a pronoun.
_FIGURES = {folded(word): str(number) for word, number in NUMBERS.items() if number > 1}
_UNSPACED = regex.compile(UNSPACED, regex.VERSION1)


def keys_of(text: str) -> list[str]:
    """Return the keys of a text's words, in order. Scripts without spaces are compared by pairs of
    characters."""
    return [key for key, _ in _keyed(text)]


def content_words(question: str, *, language: str) -> dict[str, str]:
    """Return the words the question is about: by key, the word as typed, in order."""
    skipped = _FUNCTION_WORDS.get(language, _IN_ANY_LANGUAGE)
    words = {
        key: written
        for key, written in _keyed(question)
        if folded(written) not in skipped and written not in _UNSPACED_FUNCTION_WORDS
    }
    return words or dict(_keyed(question))


def _keyed(text: str) -> Iterator[tuple[str, str]]:
    words = list(analysed(text))
    paired = {
        end
        for word in words
        if word.extra and is_unspaced(word.text)
        for end in range(word.start, word.end)
    }
    for word in words:
        if is_unspaced(word.text):
            if word.extra or word.start not in paired:
                yield word.text, text[word.start : word.end]
        elif not word.extra:
            yield _stem(word.text), text[word.start : word.end]


def is_unspaced(text: str) -> bool:
    """Whether the text begins in a script without spaces between words."""
    return not text.isascii() and bool(_UNSPACED.match(text))


@lru_cache(maxsize=32768)
def _stem(word: str) -> str:
    """Return the beginning of the word. Numbers stay whole; the plural s of a short word is
    dropped."""
    word = _FIGURES.get(word, word)
    if word[:1].isdigit():
        return word
    if len(word) <= STEM_LENGTH and len(word) > 3 and word.endswith("s") and word[-2] != "s":
        word = word[:-1]
    return word[:STEM_LENGTH]
