"""A second query without a model: the content words of a question.

A question's politeness and grammar pull its vector towards other questions. "Could you please tell
me what to do when the radio is silent?" becomes "radio silent".
"""

import re

from .function_words import FUNCTION_WORDS

_WORD = re.compile(r"[^\W_](?:[\w.'’/@:+#-]*[\w+#])?")
_BEFORE = re.compile(r"\A(?:[^\W\d_]{1,2}|qu)['’](?=\w)", re.IGNORECASE)  # l'horaire, d'avion
_AFTER = re.compile(r"['’](?:s|t|d|m|ll|re|ve)\Z", re.IGNORECASE)  # radio's, what's


def second_query(question: str, language: str) -> str | None:
    """Return the content words of a question as a query. None if that is not new, or if there is no
    list of function words for the language (an ISO 639-1 code)."""
    kept = content_words(question, language)
    if not kept or len(kept) == len(question.split()):
        return None
    return " ".join(kept)


def content_words(question: str, language: str) -> list[str]:
    """Return content words without repeats; none if there is no list for the language."""
    function_words = FUNCTION_WORDS.get(language)
    if not function_words:
        return []
    words = [_AFTER.sub("", _BEFORE.sub("", word)) for word in _WORD.findall(question)]
    return list(dict.fromkeys(word for word in words if word.casefold() not in function_words))
