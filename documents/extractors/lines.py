"""Lines of text and their positions: merge pieces into lines, and lines into paragraphs."""

import re
from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

Box = tuple[float, float, float, float]  # left, top, right, bottom

# Only these characters: NFKC would also rewrite superscripts, fractions and wide letters.
LIGATURES = str.maketrans(
    {"ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl", "ﬅ": "ſt", "ﬆ": "st"}
)
LIGATURE = re.compile("[ﬀ-ﬆ]")
LINE_HYPHEN = (
    "\ufffe"  # PDFium's character for a hyphen at the end of a line, instead of a line break
)
HYPHENS = f"-\u00ad\u2010{LINE_HYPHEN}"
CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\uffff]")
DIGITS = re.compile(r"\d+")
ASCII_DIGIT = re.compile("[0-9]")  # three times as fast as DIGITS
COMPOUND = re.compile(
    r"[^\W\d_]+(?:-[^\W\d_]+)*"
)  # with "+" instead of "*" it is slow on long words
WORD = re.compile(r"[^\W\d_]+")
SENTENCE_END = re.compile(r"[.!?:;…。！？؟]['\"”’)\]\d]{0,4}$")
ITEM = re.compile(r"(?:[•◦▪‣●○■□–—*]|-|\(?(?:\d{1,3}|[a-z]|[ivx]{1,4})[.)])\s")
LEADER = re.compile(r"(?:\.\s?){4}.*\d$")
FIGURE = re.compile(r"(?<!\S)[^\w\s]*\d[\d.,%()'’/-]*(?!\S)")
DASHES = frozenset("-–—−")  # they stand for "no figure"
BESIDE_FIGURES = DASHES | frozenset("$€£¥%")

NEAR = 8  # neighbouring lines that determine the width of a column
MAX_LINE_CHARACTERS = 2000
MIN_HEIGHT = 0.1
CELL = 25  # characters; a longer piece is hardly a table cell


class Line(NamedTuple):
    """A line of text and its position, in any unit, from the lower left corner of the page.

    A line read from a picture also has its `box` on the picture, as fractions of width and height
    from the upper left corner, and the reader's confidence. A tuple, created by `boxed`, for speed:
    a book has tens of thousands of lines.
    """

    text: str
    left: float
    right: float
    bottom: float
    top: float
    height: float
    box: Box | None = None
    confidence: float | None = None
    bold: bool = False
    italic: bool = False


_new_tuple = tuple.__new__


def boxed(
    text: str,
    left: float,
    right: float,
    bottom: float,
    top: float,
    bold: bool = False,
    italic: bool = False,
) -> Line:
    height = top - bottom
    height = height if height > MIN_HEIGHT else MIN_HEIGHT
    # Line(…) would be half a microsecond slower.
    return _new_tuple(Line, (text, left, right, bottom, top, height, None, None, bold, italic))


def tidy(text: str) -> str:
    """Clean one line: spell out ligatures, drop control characters, collapse spaces."""
    if not (text.isascii() and text.isprintable()):
        text = CONTROLS.sub("", text)
        if LIGATURE.search(text):
            text = text.translate(LIGATURES)
    elif "  " not in text:
        return text.strip()
    return " ".join(text.split())


def merged(lines: Sequence[Line]) -> list[Line]:
    """Join lines on one baseline, because PDFium ends a line at a superscript."""
    whole: list[Line] = []
    for line in lines:
        if whole and _goes_on(whole[-1], line):
            whole[-1] = _with(whole[-1], line)
        else:
            whole.append(line)
    return whole


def _goes_on(line: Line, piece: Line) -> bool:
    gap = piece.left - line.right
    height = line.height if line.height > piece.height else piece.height
    if gap <= -0.3 * height or len(line.text) > MAX_LINE_CHARACTERS:
        return False
    shared = min(line.top, piece.top) - max(line.bottom, piece.bottom)
    if shared <= 0.4 * min(line.height, piece.height):
        return False
    return gap < 1.5 * height or max(len(line.text), len(piece.text)) <= CELL


def _with(line: Line, piece: Line) -> Line:
    taller = max(line, piece, key=lambda part: part.height)
    head = line.text.replace(LINE_HYPHEN, "-")
    close = piece.left - line.right < 0.15 * taller.height
    text = f"{head}{piece.text}" if close else f"{head} {piece.text}"
    whole = taller._replace(
        text=text,
        left=line.left,
        right=max(line.right, piece.right),
        bold=line.bold
        and (piece.bold or piece.height < line.height),  # the mark of a footnote is not bold
        italic=line.italic and piece.italic,
    )
    if not (line.box or piece.box):
        return whole
    return whole._replace(box=hull([line, piece]), confidence=confidence([line, piece]))


def hull(lines: Sequence[Line]) -> Box | None:
    """Return the box around all lines that were read from a picture."""
    boxes = [line.box for line in lines if line.box]
    if not boxes:
        return None
    lefts, tops, rights, bottoms = zip(*boxes, strict=True)
    return min(lefts), min(tops), max(rights), max(bottoms)


def confidence(lines: Sequence[Line]) -> float | None:
    """Return the mean OCR confidence per character; None for lines not read by OCR."""
    read = [(line.confidence, len(line.text)) for line in lines if line.confidence is not None]
    characters = sum(count for _, count in read)
    return sum(sure * count for sure, count in read) / characters if characters else None


class Joiner:
    """Joins lines into paragraphs. Knows the document's words, to tell hyphens from word breaks."""

    def __init__(self, pages: Sequence[Sequence[Line]]) -> None:
        self.pages = pages

    @cached_property
    def compounds(self) -> set[str]:
        return {found for found in self._found(COMPOUND) if "-" in found}

    @cached_property
    def words(self) -> set[str]:
        return self._found(WORD)

    def _found(self, pattern: re.Pattern[str]) -> set[str]:
        texts = (line.text for page in self.pages for line in page)
        return {found for text in texts for found in pattern.findall(text.lower())}

    def paragraphs(
        self, lines: Sequence[Line], pitch: float | None = None
    ) -> list[tuple[str, list[Line]]]:
        """Return the text and the lines of each paragraph. `pitch` is that of the page."""
        if not lines:
            return []
        pitch = pitch_of(lines) if pitch is None else pitch
        groups = [[lines[0]]]
        for line in lines[1:]:
            if _begins_paragraph(groups[-1], line, pitch):
                groups.append([line])
            else:
                groups[-1].append(line)
        return [(text, group) for group in groups if (text := self._joined(group))]

    def one_line(self, lines: Sequence[Line]) -> str:
        """Return a heading of several lines as one line."""
        text = lines[0].text
        for line, following in pairwise(lines):
            is_broken = _is_broken_word(line, following)
            text = self._head(text, following.text) if is_broken else f"{text} "
            text += following.text
        return text.replace(LINE_HYPHEN, "-")

    def _joined(self, lines: Sequence[Line]) -> str:
        pieces = [lines[0].text]
        edge = max(line.right for line in lines)
        row = is_row(lines[0].text)
        for number, (line, following) in enumerate(pairwise(lines)):
            was_row, row = row, is_row(following.text)
            if line.text[-1] in HYPHENS and _is_broken_word(line, following):
                pieces[-1] = self._head(pieces[-1], following.text)
            elif was_row or row:
                pieces.append("\n")
            else:
                end = _with_next_word(line, following)
                is_short = end < edge and _is_short(
                    lines[max(0, number - NEAR) : number + NEAR], line, following, end
                )
                pieces.append("\n" if is_short or ITEM.match(following.text) else " ")
            pieces.append(following.text)
        return "".join(pieces).replace(LINE_HYPHEN, "-")

    def _head(self, line: str, following: str) -> str:
        """Return the line without its hyphen, unless the hyphen belongs to the word."""
        head = line[:-1]
        if not (head[-1].islower() and following[0].islower()):
            return head + "-"
        first, last = WORD.findall(head)[-1].lower(), WORD.findall(following)[0].lower()
        own = f"{first}-{last}" in self.compounds and first + last not in self.words
        return head + "-" if own else head


def pitch_of(lines: Sequence[Line]) -> float:
    """Return the distance of baselines within paragraphs, which is less than between them."""
    steps = sorted(
        step
        for line, following in pairwise(lines)
        if (step := line.bottom - following.bottom) > 0.5 * following.height
    )
    return steps[len(steps) // 4] if steps else lines[0].height


def _begins_paragraph(group: Sequence[Line], line: Line, pitch: float) -> bool:
    last = group[-1]
    if not 0.85 < line.height / last.height < 1.18:
        return not _is_broken_word(last, line)
    # Most lines end with a letter, and the pattern takes five times as long.
    ended = not last.text[-1].isalpha() and bool(SENTENCE_END.search(last.text[-6:]))
    beside = line.left > last.right or line.right < last.left
    if line.bottom > last.bottom + 0.5 * last.height or beside:  # the next column, or a figure
        return ended or not (line.text[0].islower() or _is_broken_word(last, line))
    step = last.bottom - line.bottom
    if step > line.height and step > 1.35 * pitch:
        return True
    if not ended or _is_broken_word(last, line):
        return False
    shift = line.left - last.left
    is_first = len(group) == 1
    indented = shift > 0.7 * line.height
    outdented = shift < -0.7 * line.height and not is_first
    if indented or outdented:
        return True
    return _is_short(group[-NEAR:], last, line, _with_next_word(last, line))


def _is_short(group: Sequence[Line], line: Line, following: Line, end: float) -> bool:
    """Whether the next line's first word would have fitted: then the line was ended on purpose."""
    right = line.right
    if end < following.right and following.left < right:
        return True
    return any(end < member.right and member.left < right for member in group)


def _with_next_word(line: Line, following: Line) -> float:
    """Return where the line would end with the next line's first word appended."""
    letters = following.text.find(" ")
    if letters < 0:
        letters = len(following.text)
    return line.right + (letters + 2) * (line.right - line.left) / len(line.text)


def is_row(text: str) -> bool:
    """Whether this is a table row (mostly figures, or figures at its end) or a contents entry."""
    if not (ASCII_DIGIT if text.isascii() else DIGITS).search(text):  # most lines
        return False
    if LEADER.search(text[-40:]):
        return True
    figures = len(FIGURE.findall(text))
    if figures < 2:
        return False
    return figures * 5 >= (text.count(" ") + 1) * 2 or _ends_in_figures(text)


def _ends_in_figures(text: str) -> bool:
    """Whether it ends in two figures: "34,229 $ 35,355", but not "December 31, 2024"."""
    found = 0
    for word in reversed(text.split(" ")):
        if word[-1:] != "," and FIGURE.fullmatch(word):
            found += 1
        elif word not in BESIDE_FIGURES:
            break
    return found >= 2


def is_cell(text: str) -> bool:
    """Whether this is nothing but figures: one table cell, or several."""
    words = text.split(" ")
    others = [word for word in words if not FIGURE.fullmatch(word)]
    return BESIDE_FIGURES.issuperset(others) and (len(others) < len(words) or text in DASHES)


def _is_broken_word(line: Line, following: Line) -> bool:
    text = line.text
    return (
        text[-1] in HYPHENS
        and len(text) > 1
        and text[-2].isalnum()
        and following.text[0].isalnum()
        and not ITEM.match(following.text)
    )
