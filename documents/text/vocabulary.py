"""Common English words, as the bundled embedding model's tokenizer lists them."""

import json
from functools import cache

from documents.embedders.model_files import ModelFiles


def is_common(word: str) -> bool:
    """Whether this, or what it is the plural of, is a word that many people write so."""
    words = _common_words()
    return word in words or (word.endswith("s") and word[:-1] in words)


@cache
def _common_words() -> frozenset[str]:
    """About 20,000; none where the model is not installed."""
    try:
        tokenizer = ModelFiles("").tokenizer
    except ValueError:
        return frozenset()
    tokens = json.loads(tokenizer.read_text("utf-8"))["model"]["vocab"]
    return frozenset(token for token in tokens if token.isalpha() and len(token) > 2)
