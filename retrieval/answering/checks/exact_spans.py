"""Which spans of a stored text can be quoted: whole words and numbers, without block breaks or
anything that looks like a marker or the end of a quotation."""

from collections.abc import Iterator

import regex

MAX_EXTENSION = 64  # maximum growth in characters, to avoid cutting a word or number

MARKER_LIKE = regex.compile(
    r"\\?[\[【［〔]\s*+cite(?:[^\[\]\n]{0,60}+[\]】］〕])?", regex.IGNORECASE
)
_PARTNERS = {"“": "”", "„": "“”", "«": "»", "「": "」", "『": "』"}
_DIRECTED_MARK = regex.compile("[“”„«»「」『』]")
BLOCK_BREAK = regex.compile(r"\n[ \t]*+\n")
_NUMBER_GOES_ON = regex.compile(
    r"[ \u00a0\u202f]?(?:[%‰°]|(?:per\s?cent|percent|Prozent|pour cent|por ciento|hundred|thousand"
    r"|million|billion|trillion|Millionen|Milliarden?|Mio|Mrd|millions|milliards?|millones|mil"
    r"|bn|[kKmM])(?!\p{L})|[万萬億亿千百])"
)


def whole(text: str, start: int, end: int) -> tuple[int, int]:
    """Widen the span where it would cut a word or change a number."""
    first, last = max(0, start - MAX_EXTENSION), min(len(text), end + MAX_EXTENSION)
    while start > first and _belongs_before(text, start):
        start -= 1
    while end < last and _belongs_after(text, end):
        end += 1
    if end and text[end - 1].isdecimal() and (more := _NUMBER_GOES_ON.match(text, end)):
        end = more.end()
    return start, end


def _belongs_before(text: str, start: int) -> bool:
    before, here = text[start - 1], text[start : start + 1]
    if _is_spaced(before) and _is_spaced(here):
        return True
    if not here.isdecimal():
        return here in ".,:/-−" and before.isdecimal() and text[start + 1 : start + 2].isdecimal()
    if before in "$€£¥#±":
        return True
    further = text[start - 2 : start - 1]
    if before in ".,:/'’":
        return before == "." or further.isdecimal()
    return before in "-−–+" and not further.strip()


def _belongs_after(text: str, end: int) -> bool:
    before, here = text[end - 1 : end], text[end]
    if _is_spaced(before) and _is_spaced(here):
        return True
    if not before.isdecimal():
        return False
    return here in ".,:/-−'’" and text[end + 1 : end + 2].isdecimal()


def _is_spaced(character: str) -> bool:
    """Whether this is a letter or digit of a script with spaces between words."""
    return character.isalnum() and ord(character) < 0x0E00


def allowed_parts(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Return the span without blank lines, marker-like text, and unpaired quotation marks, which
    would pair with others in an answer."""
    piece = text[start:end]
    gaps = [found.span() for found in (*BLOCK_BREAK.finditer(piece), *MARKER_LIKE.finditer(piece))]
    gaps += [(mark, mark + 1) for mark in _marks_without_partner(piece)]
    low = 0
    for gap_start, gap_end in sorted([*gaps, (len(piece), len(piece))]):
        inner = piece[low:gap_start]
        offset = start + low + len(inner) - len(inner.lstrip())
        if inner.strip():
            yield offset, offset + len(inner.strip())
        low = max(low, gap_end)


def _marks_without_partner(text: str) -> list[int]:
    straight = [found.start() for found in regex.finditer('"', text)]
    lonely = straight[-1:] if len(straight) % 2 else []
    opened: list[int] = []
    for found in _DIRECTED_MARK.finditer(text):
        mark = found[0]
        if opened and mark in _PARTNERS[text[opened[-1]]]:
            opened.pop()
        elif mark in _PARTNERS:
            opened.append(found.start())
        else:
            lonely.append(found.start())
    return [*lonely, *opened]
