"""Find a passage on a page by its letters and digits alone.

The text of a version and the text layer of its page differ in white space, hyphens, ligatures and
order, because extraction joins lines and moves columns.
"""

import unicodedata

Span = tuple[int, int]

PIECE_WORDS = 6  # pieces to look for if the passage is not found as a whole
MIN_PIECE = 8  # letters; shorter pieces occur everywhere
MIN_SHARE = 0.4  # minimum share of the passage that must be found for anything to be marked


def folded(text: str) -> tuple[str, list[int]]:
    """Return the letters and digits in lower case, and the position of each in `text`."""
    letters: list[str] = []
    places: list[int] = []
    for place, character in enumerate(text):
        for letter in unicodedata.normalize("NFKD", character).casefold():
            if letter.isalnum():
                letters.append(letter)
                places.append(place)
    return "".join(letters), places


def occurrences_before(text: str, passage: str) -> int:
    """Count the passage's letters in the preceding `text`, to tell which of several occurrences is
    meant."""
    wanted = folded(passage)[0]
    return folded(text)[0].count(wanted) if wanted else 0


def find(text: str, passage: str, *, skip: int = 0) -> list[Span]:
    """Return where in `text` the passage occurs, after `skip` earlier occurrences: in pieces if it
    is interrupted, and nothing if too little of it is found."""
    letters, places = folded(text)
    wanted = folded(passage)[0]
    if not wanted:
        return []
    spans = _whole(letters, wanted, skip) or _pieces(letters, passage, len(wanted))
    return [(places[start], places[end - 1] + 1) for start, end in spans]


def _whole(letters: str, wanted: str, skip: int) -> list[Span]:
    first = start = letters.find(wanted)
    for _ in range(skip):
        following = letters.find(wanted, start + len(wanted))
        if following < 0:
            break
        start = following
    return [(start, start + len(wanted))] if first >= 0 else []


def _pieces(letters: str, passage: str, length: int) -> list[Span]:
    words = passage.split()
    found: list[Span] = []
    last = 0
    for number in range(0, len(words), PIECE_WORDS):
        piece = folded(" ".join(words[number : number + PIECE_WORDS]))[0]
        if len(piece) < MIN_PIECE:
            continue
        start = letters.find(piece, last)
        start = letters.find(piece) if start < 0 else start
        if start >= 0:
            last = start + len(piece)
            found.append((start, last))
    covered = sum(end - start for start, end in found)
    return found if covered >= MIN_SHARE * length else []
