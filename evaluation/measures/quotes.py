"""Where a quoted text stands in a document's text."""

import re


def place_of(quote: str, text: str, *, near: int = 0) -> tuple[int, int] | None:
    """(start, end): exactly, or with any white space between the words; of several places the one
    nearest to where it used to stand."""
    words = quote.split()
    if not words:
        return None
    exact = [(m.start(), m.end()) for m in re.finditer(re.escape(quote), text)]
    places = exact or [
        (m.start(), m.end()) for m in re.finditer(r"\s+".join(map(re.escape, words)), text)
    ]
    return min(places, key=lambda place: abs(place[0] - near), default=None)
