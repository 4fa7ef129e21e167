"""From the lines of PDF pages to paragraphs: fragments, columns, hyphens and page furniture."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from math import ceil, floor
from statistics import median
from typing import NamedTuple

from documents.passages import Block, Page

# Only these presentation forms: NFKC would also rewrite superscripts, fractions and wide letters.
LIGATURES = str.maketrans(
    {"ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl", "ﬅ": "ſt", "ﬆ": "st"}
)
LIGATURE = re.compile("[ﬀ-ﬆ]")
LINE_HYPHEN = "\ufffe"  # what PDFium puts for a hyphen at a line's end, in place of the line break
HYPHENS = f"-\u00ad\u2010{LINE_HYPHEN}"
CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\uffff]")
DIGITS = re.compile(r"\d+")
COMPOUND = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")  # "*": with "+" it is slow on long words
WORD = re.compile(r"[^\W\d_]+")
SENTENCE_END = re.compile(r"[.!?:;…。！？؟]['\"”’)\]\d]{0,4}$")
ITEM = re.compile(r"(?:[•◦▪‣●○■□–—*]|-|\(?(?:\d{1,3}|[a-z]|[ivx]{1,4})[.)])\s")
LEADER = re.compile(r"(?:\.\s?){4}.*\d$")
FIGURE = re.compile(r"(?<!\S)[^\w\s]*\d[\d.,%()'’/-]*(?!\S)")
NOT_KEY = re.compile(r"[\W_]+")
NUMBERING = re.compile(
    r"^(?:(?:chapter|section|part|appendix|kapitel|teil|abschnitt|chapitre|partie|capítulo)\s+)?"
    r"(?:\d+(?:\.\d+)*|[A-Z](?:\.\d+)+|[A-Z]|[IVXLC]+)[.):]?\s+",
    re.IGNORECASE,
)

FEWEST_ROWS = 6  # what is less is no column of text
HEADING_LINES = 3
NEAR = 8  # lines that show how wide a column is
LONGEST_LINE = 2000  # characters
LEAST_HEIGHT = 0.1
CELL = 25  # characters; what is longer is hardly a table's cell


class Line(NamedTuple):
    """A line of text and its box, in points from the lower left corner of the page.

    A tuple, made by `boxed`: a book has ten thousands of them, and speed matters here.
    """

    text: str
    left: float
    right: float
    bottom: float
    top: float
    height: float


def boxed(text: str, left: float, right: float, bottom: float, top: float) -> Line:
    height = top - bottom
    return Line(text, left, right, bottom, top, height if height > LEAST_HEIGHT else LEAST_HEIGHT)


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of a PDF's outline; pages are counted from 0."""

    page: int
    level: int
    title: str


def tidy(text: str) -> str:
    """One line: ligatures spelt out, no control characters, single spaces."""
    if not (text.isascii() and text.isprintable()):
        text = CONTROLS.sub("", text)
        if LIGATURE.search(text):
            text = text.translate(LIGATURES)
    elif "  " not in text:
        return text.strip()
    return " ".join(text.split())


def plain_lines(text: str) -> list[Line]:
    """Lines of a reader that tells no positions: as if they were typed on one machine."""
    rows = enumerate(map(tidy, text.split("\n")))
    return [boxed(row, 0, len(row), -number, 1 - number) for number, row in rows if row]


def merged(lines: Sequence[Line]) -> list[Line]:
    """A superscript ends a line for PDFium: what stands on one baseline is one line again."""
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
    if gap <= -0.3 * height or len(line.text) > LONGEST_LINE:
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
    return taller._replace(text=text, left=line.left, right=max(line.right, piece.right))


def gutter(lines: Sequence[Line], runs: Sequence[tuple[float, float]]) -> float | None:
    """Where lines must be cut that PDFium read across two columns written row by row.

    `runs` are the left and right ends of what was written at once: none may cross a gutter.
    """
    reach = 0.3 * (middle(lines) - min(line.left for line in lines))
    first, last = int(middle(lines) - reach), int(middle(lines) + reach)
    allowed = len(runs) // 20  # a title over both columns
    opened = Counter(max(first, floor(start) + 1) for start, end in runs if end > first)
    closed = Counter(ceil(end) for _, end in runs)
    stretch = widest = range(first, first)
    crossing = 0
    for x in range(first, last):
        crossing += opened[x] - (closed[x] if x > first else 0)
        stretch = range(stretch.start, x + 1) if crossing <= allowed else range(x + 1, x + 1)
        widest = max(widest, stretch, key=len)
    if len(widest) < 0.5 * median(line.height for line in lines):
        return None
    x = widest[len(widest) // 2]
    return float(x) if crosses(lines, x) else None


def middle(lines: Sequence[Line]) -> float:
    return (min(line.left for line in lines) + max(line.right for line in lines)) / 2


def crosses(lines: Sequence[Line], x: float) -> bool:
    """Most lines run across this place."""
    across = sum(line.left < x < line.right for line in lines)
    return across >= FEWEST_ROWS and across * 2 >= len(lines)


def by_columns(rows: Sequence[tuple[Line, ...]], x: float) -> list[Line] | None:
    """Rows cut at the gutter, read column by column; None where they are a table's rows."""
    pairs = [row for row in rows if len(row) == 2]
    starts = sorted(right.left for _, right in pairs)
    if len(pairs) < FEWEST_ROWS or any(
        median(len(row[side].text) for row in pairs) < CELL for side in (0, 1)
    ):
        return None
    usual = median(starts)
    aligned = sum(abs(start - usual) < 4 for start in starts)
    figures = sum(_is_row(line.text) for row in pairs for line in row)
    if aligned * 4 < len(pairs) * 3 or figures * 2 > len(pairs):
        return None
    ordered: list[Line] = []
    later: list[Line] = []  # the right column, down to where a line runs over both
    for row in rows:
        if len(row) == 2:
            ordered.append(row[0])
            later.append(row[1])
        elif row[0].left > x:
            later.append(row[0])
        elif row[0].right < x:
            ordered.append(row[0])
        else:
            ordered += [*later, row[0]]
            later = []
    return ordered + later


class Joiner:
    """Joins lines to paragraphs. It knows the document's words, to tell a hyphen from a break."""

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

    def paragraphs(self, lines: Sequence[Line]) -> list[str]:
        if not lines:
            return []
        pitch = _pitch(lines)
        groups = [[lines[0]]]
        for line in lines[1:]:
            if _begins_paragraph(groups[-1], line, pitch):
                groups.append([line])
            else:
                groups[-1].append(line)
        return [text for group in groups if (text := self._joined(group))]

    def _joined(self, lines: Sequence[Line]) -> str:
        pieces = [lines[0].text]
        edge = max(line.right for line in lines)
        is_row = _is_row(lines[0].text)
        for number, (line, following) in enumerate(pairwise(lines)):
            was_row, is_row = is_row, _is_row(following.text)
            if _is_broken_word(line, following):
                pieces[-1] = self._head(pieces[-1], following.text)
            elif was_row or is_row or ITEM.match(following.text):
                pieces.append("\n")
            else:
                is_short = _with_next_word(line, following) < edge and _is_short(
                    lines[max(0, number - NEAR) : number + NEAR], line, following
                )
                pieces.append("\n" if is_short else " ")
            pieces.append(following.text)
        return "".join(pieces).replace(LINE_HYPHEN, "-")

    def _head(self, line: str, following: str) -> str:
        """The line up to its hyphen, with it where it is more than the typesetter's."""
        head = line[:-1]
        if not (head[-1].islower() and following[0].islower()):
            return head + "-"
        first, last = WORD.findall(head)[-1].lower(), WORD.findall(following)[0].lower()
        own = f"{first}-{last}" in self.compounds and first + last not in self.words
        return head + "-" if own else head


def _pitch(lines: Sequence[Line]) -> float:
    """From one baseline to the next, where lines are closest: blocks are further apart."""
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
    # Most lines end with a letter; the pattern costs five times as much.
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
    return indented or outdented or _is_short(group[-NEAR:], last, line)


def _is_short(group: Sequence[Line], line: Line, following: Line) -> bool:
    """The next line's first word had room here: somebody ended the line on purpose."""
    end = _with_next_word(line, following)
    return any(end < member.right and member.left < line.right for member in (following, *group))


def _with_next_word(line: Line, following: Line) -> float:
    """Where the line would end if it went on with the next line's first word."""
    letters = following.text.find(" ")
    if letters < 0:
        letters = len(following.text)
    return line.right + (letters + 2) * (line.right - line.left) / len(line.text)


def _is_row(text: str) -> bool:
    """A table's row, mostly figures, or a line of a table of contents."""
    if not DIGITS.search(text):
        return False
    if LEADER.search(text[-40:]):
        return True
    figures = len(FIGURE.findall(text))
    return figures >= 2 and figures * 5 >= (text.count(" ") + 1) * 2


def _is_broken_word(line: Line, following: Line) -> bool:
    text = line.text
    return (
        text[-1] in HYPHENS
        and len(text) > 1
        and text[-2].isalnum()
        and following.text[0].isalnum()
        and not ITEM.match(following.text)
    )


def assembled(
    pages: Sequence[list[Line]], entries: Sequence[Entry]
) -> tuple[str, tuple[Block, ...], tuple[Page, ...]]:
    joiner = Joiner(pages)
    by_page: dict[int, list[Entry]] = {}
    for entry in entries:
        by_page.setdefault(entry.page, []).append(entry)
    texts: list[str] = []
    blocks: list[Block] = []
    spans: list[Page] = []
    start = 0
    for index, lines in enumerate(pages):
        pieces = list(_pieces(joiner, lines, by_page.get(index, ())))
        place = start
        for text, heading in pieces:
            blocks.append(_block(place, place + len(text), heading))
            place += len(text) + 2
        texts.append("\n\n".join(text for text, _ in pieces))
        spans.append(Page(index + 1, start, start + len(texts[-1])))
        start = spans[-1].end + 2
    return "\n\n".join(texts), tuple(blocks), tuple(spans)


def _block(start: int, end: int, heading: Entry | None) -> Block:
    if heading:
        return Block("heading", start, end, level=heading.level, title=heading.title)
    return Block("text", start, end)


def _pieces(
    joiner: Joiner, lines: list[Line], entries: Sequence[Entry]
) -> Iterator[tuple[str, Entry | None]]:
    """The page's paragraphs, and its headings with their entry in the outline."""
    done = 0
    for start, end, entry in _headings(lines, entries):
        yield from ((text, None) for text in joiner.paragraphs(lines[done:start]))
        # One piece whatever its lines look like: a heading is one block.
        yield " ".join(line.text for line in lines[start:end]).replace(LINE_HYPHEN, "-"), entry
        done = end
    yield from ((text, None) for text in joiner.paragraphs(lines[done:]))


def _headings(lines: Sequence[Line], entries: Sequence[Entry]) -> list[tuple[int, int, Entry]]:
    """Where the outline's titles stand among a page's lines; each line serves once."""
    if not entries:
        return []
    places: dict[str, list[tuple[int, int]]] = {}
    for start in range(len(lines)):
        for end in range(start + 1, min(start + HEADING_LINES, len(lines)) + 1):
            words = " ".join(line.text for line in lines[start:end])
            for key in {_key(words), _key(NUMBERING.sub("", words, count=1))}:
                places.setdefault(key, []).append((start, end))
    left = {key: iter(spans) for key, spans in places.items() if key}
    taken: set[int] = set()
    found = []
    for entry in entries:
        keys = (_key(entry.title), _key(NUMBERING.sub("", entry.title, count=1)))
        spans = (span for key in keys for span in left.get(key, ()))
        if span := next((span for span in spans if taken.isdisjoint(range(*span))), None):
            taken.update(range(*span))
            found.append((*span, entry))
    return sorted(found, key=lambda heading: heading[0])


def _key(words: str) -> str:
    return NOT_KEY.sub("", words.casefold())
