"""Locate a quotation in a document's text."""

import re


def place_of(quote: str, text: str, *, near: int = 0) -> tuple[int, int] | None:
    """Return (start, end) of the quotation, exact or with different white space; if there are
    several, the one closest to its previous position."""
    words = quote.split()
    if not words:
        return None
    exact = [(m.start(), m.end()) for m in re.finditer(re.escape(quote), text)]
    places = exact or [
        (m.start(), m.end()) for m in re.finditer(r"\s+".join(map(re.escape, words)), text)
    ]
    return min(places, key=lambda place: abs(place[0] - near), default=None)
