"""The words of a text as the full-text index should see them; the same for text and query."""

import re

_BETWEEN_WORDS = re.compile(r"[\W_]+")


def words(text: str) -> str:
    """Only letters and digits, single-spaced.

    PostgreSQL's parser takes `ERR-1234` for a number and `foo.bar` for a host name; without the
    punctuation they are words, findable by their parts.
    """
    return _BETWEEN_WORDS.sub(" ", text).strip()
