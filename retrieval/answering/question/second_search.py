"""Other words for a second search without a model: the words of a question that carry meaning.

A question's politeness and grammar pull its vector towards other questions. What is left of
"Could you please tell me what to do when the radio is silent?" is "radio silent".
"""

import re

from .function_words import FUNCTION_WORDS

_WORD = re.compile(r"[^\W_](?:[\w.'’/@:+#-]*[\w+#])?")
_BEFORE = re.compile(r"\A(?:[^\W\d_]{1,2}|qu)['’](?=\w)", re.IGNORECASE)  # l'horaire, d'avion
_AFTER = re.compile(r"['’](?:s|t|d|m|ll|re|ve)\Z", re.IGNORECASE)  # radio's, what's


def second_query(question: str, language: str) -> str | None:
    """The content words of a question, as a query. None where that is nothing new, or where no
    list of function words is kept for the language (an ISO 639-1 code)."""
    kept = content_words(question, language)
    if not kept or len(kept) == len(question.split()):
        return None
    return " ".join(kept)


def content_words(question: str, language: str) -> list[str]:
    """Without repeats; none where no list of function words is kept for the language."""
    function_words = FUNCTION_WORDS.get(language)
    if not function_words:
        return []
    words = [_AFTER.sub("", _BEFORE.sub("", word)) for word in _WORD.findall(question)]
    return list(dict.fromkeys(word for word in words if word.casefold() not in function_words))
