"""Common English words, from the tokenizer of the bundled embedding model."""

import json
from functools import cache

from documents.embedders.model_files import ModelFiles


def is_common(word: str) -> bool:
    """Whether the word, or its singular, is a common English word."""
    words = _common_words()
    return word in words or (word.endswith("s") and word[:-1] in words)


@cache
def _common_words() -> frozenset[str]:
    """Return about 20,000 words, or none if the model is not installed."""
    try:
        tokenizer = ModelFiles("").tokenizer
    except ValueError:
        return frozenset()
    tokens = json.loads(tokenizer.read_text("utf-8"))["model"]["vocab"]
    return frozenset(token for token in tokens if token.isalpha() and len(token) > 2)
