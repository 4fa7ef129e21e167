"""Recognise rows, column headers and labels of tables among the lines of a PDF page."""

import re
from typing import NamedTuple

from documents.extractors.lines import ASCII_DIGIT, BESIDE_FIGURES, DASHES, FIGURE, LEADER, Line
from documents.extractors.pdf.body import Body

SPARSE = 0.5  # ratio to the width of its letters; a wider line has gaps between cells
MIN_GAPS = 3  # in heights of its letters
CAPITALS = 1.45  # ratio of their width to that of other letters
MAX_LABEL = 160  # characters before the figures; a longer text is a paragraph
MAX_HEAD = 120  # characters of a column header

YEAR = re.compile(r"(?:19|20)\d\d\w?$")
# Signs for "no figure", and signs next to a figure.
NO_FIGURE = frozenset({"n/a", "N/A", "n.a.", "NM", "nm", "n/m", "N/M", "NA", "*", "**"})
UNITS = frozenset({"x", "bps", "pts", "pp", "pts.", "%)", ")%", ")", "million", "billion"})
NOTE_MARK = re.compile(r"\((?:\d|[a-z])\)$")
# The words of lines such as "Three Months Ended June 30," or "December 31, 2022 and 2021".
NAMES_PERIOD = re.compile(
    r"(?i)\b(?:january|february|march|april|may|june|july|august|september|october|november"
    r"|december|ended|ending|years?|quarters?|months|weeks|periods?|fiscal)\b"
)
IN_PERIOD = re.compile(
    r"(?i)[\W\d]*(?:(?:january|february|march|april|may|june|july|august|september|october"
    r"|november|december|ended|ending|years?|quarters?|months|weeks|periods?|fiscal|the|for|as|of"
    r"|at|and|to|through|full|first|second|third|fourth|three|six|nine|twelve|thirteen|twenty"
    r"|thirty|fifty|two|q[1-4]|change)\b[\W\d]*)*$"
)
UNITS_NAMED = re.compile(
    r"(?i)\b(?:millions?|thousands?|billions?|percent|unaudited|audited|dollars|except)\b|\$"
)
IN_UNITS = re.compile(r"(?i)\bin (?:u\.?s\.? )?(?:dollars|millions|thousands|billions|percent)\b")
MAX_UNITS_WORDS = 8


class RowShape(NamedTuple):
    """What a line could be in a table, judging by its text."""

    cells: int  # number of figures at its end, including dashes
    label: str  # the text before them
    is_sparse: bool
    is_years: bool  # all cells are years
    last: str  # the last figure
    has_amount: bool = False  # some cell is money, a percentage or in the thousands

    @property
    def is_data(self) -> bool:
        if not self.cells or self.is_head or len(self.label) > MAX_LABEL:
            return False
        return self.cells > 1 or self.is_sparse

    @property
    def is_head(self) -> bool:
        """Whether it is a header of years."""
        return self.is_years and (self.cells > 1 or self.is_sparse) and len(self.label) < MAX_HEAD


def row_of(line: Line, body: Body) -> RowShape:
    is_sparse = has_gaps(line, body)
    text = line.text
    if not ASCII_DIGIT.search(text[-40:]) and text[-1] not in DASHES:  # most lines
        return RowShape(0, text, is_sparse, is_years=False, last="")
    words = text.split(" ")
    cells, years, last = 0, 0, ""
    place = len(words)
    while place:
        word = words[place - 1]
        if word in DASHES or word in NO_FIGURE:
            cells += 1
        elif FIGURE.fullmatch(word) and word[-1:] != ",":
            cells += 1
            years += bool(YEAR.match(word))
            last = last or word
        elif not (word in BESIDE_FIGURES or word in UNITS or (cells and NOTE_MARK.match(word))):
            break
        place -= 1
    label = " ".join(words[:place])
    figures = bool(last)
    if (not figures and cells < 2) or LEADER.search(text[-40:]):
        return RowShape(0, text, is_sparse, is_years=False, last=last)
    has_amount = any(mark in word for word in words[place:] for mark in "$€£,.%(")
    return RowShape(cells, label, is_sparse, figures and years == cells, last, has_amount)


def has_gaps(line: Line, body: Body) -> bool:
    """Whether the line is wider than its letters, so that there is space between cells."""
    letters = len(line.text) * line.height * body.letter_width
    if line.text.isupper():
        letters *= CAPITALS
    gaps = line.right - line.left - letters
    return gaps > SPARSE * letters and gaps > MIN_GAPS * line.height


def heads_columns(line: Line, row: RowShape) -> bool:
    """Whether it could be a column header: years, a period, units, or words with gaps."""
    text = line.text
    if row.is_head:
        return True
    if len(text) > MAX_HEAD:
        return False
    if names_period(text) or names_units(text):
        return True
    return row.is_sparse and not row.is_data and text[-1] not in ".:;"


def names_period(text: str) -> bool:
    return bool(NAMES_PERIOD.search(text)) and bool(IN_PERIOD.match(text))


def names_units(text: str) -> bool:
    if text.startswith("("):
        return text.endswith(")") and bool(UNITS_NAMED.search(text))
    return bool(IN_UNITS.search(text)) and text.count(" ") < MAX_UNITS_WORDS
