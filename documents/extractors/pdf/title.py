"""Find a PDF's title: company, form and period of a filing, or the largest words."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from documents.extractors.lines import Line

MAX_NAME_CHARACTERS = 200
COVER_LINES = 60  # lines from the top that contain everything on a form's cover
COMMISSION = re.compile(r"(?i)\bsecurities\s+and\s+exchange\s+commission\b")
FORM = re.compile(r"(?i)\W*form\s+((?:\d{1,2}|[NSF])-[A-Z\d]{1,3}(?:/A)?)\W*$")
REGISTRANT = re.compile(r"(?i)\W*\(?exact name of (?:the )?registrant")
MONTHS = "January|February|March|April|May|June|July|August|September|October|November|December"
DATE = re.compile(rf"(?i)\b(?:{MONTHS})\s+\d{{1,2}},?\s*\d{{4}}\b")
FIRST_WEEK = re.compile(r"(?i)january\s+[1-7],")
YEAR_ENDED = re.compile(r"(?i)\bfiscal\s+year\s+ended\b|\bfor\s+the\s+year\s+ended\b")
PERIOD_ENDED = re.compile(r"(?i)\b(?:period|quarter)\s+ended\b|\bdate\s+of\s+(?:report|earliest)\b")
LETTERS = re.compile(r"[^\W\d_]{2}")
# Large text on the first page of many files that is not their title.
BOILERPLATE = re.compile(
    r"(?i)\W*(?:united states(?: of america)?|(?:united states )?securities and exchange commission"
    r"|washington,? d\.? ?c\.?.*|form \S+|.*\bpursuant to section\b.*|(?:press|news|media) release"
    r"|for (?:immediate )?release.*|exhibit \S+|confidential|draft|preliminary|copy|page \d+"
    r"|commission file.*|\(?mark one\)?|or"
    rf"|(?:{MONTHS}) \d{{1,2}}, \d{{4}}"
    r")\W*$"
)
# Not a title: a numbered heading, or a name for a table of contents.
NUMBERED = re.compile(r"(?i)(?:table of )?contents$|inhalt|sommaire$|índice$|\d+(?:\.\d+)*[.)]?\s")


def is_boilerplate(words: str) -> bool:
    return bool(BOILERPLATE.match(words))


def names_nothing(words: str) -> bool:
    """Whether these words cannot be a document's title, however large they are."""
    return not words or is_boilerplate(words) or bool(NUMBERED.match(words))


class Cover(NamedTuple):
    """The first page of a form that a company files with a securities commission."""

    company: str
    form: str
    period: str

    @property
    def title(self) -> str:
        """Company, form and period, such as "3M COMPANY Form 10-K 2022"."""
        return " ".join(filter(None, (self.company, "Form", self.form, self.period)))


def cover_of(page: Sequence[Line]) -> Cover | None:
    lines = page[:COVER_LINES]
    if not any(COMMISSION.search(line.text) for line in lines):
        return None
    form = next((found[1].upper() for line in lines if (found := FORM.match(line.text))), "")
    company = _company(lines) if form else ""
    return Cover(company[:MAX_NAME_CHARACTERS], form, _period(lines)) if company else None


def _company(lines: Sequence[Line]) -> str:
    """Return the name above "(Exact name of registrant …)", else the largest line that is not
    boilerplate."""
    names = [
        line
        for line in lines
        if LETTERS.search(line.text)
        and not line.text.startswith("(")
        and not is_boilerplate(line.text)
    ]
    for number, line in enumerate(lines):
        if REGISTRANT.match(line.text):
            above = [name for name in lines[:number] if name in names]
            return above[-1].text if above else ""
    largest = max(names, key=lambda line: line.height, default=None)
    return largest.text if largest else ""


def _period(lines: Sequence[Line]) -> str:
    """Return the year of an annual report, or the date of another report."""
    for number, line in enumerate(lines):
        is_annual = YEAR_ENDED.search(line.text)
        if is_annual or PERIOD_ENDED.search(line.text):
            following = " ".join(below.text for below in lines[number : number + 2])
            if date := DATE.search(following):
                return _fiscal_year(date[0]) if is_annual else date[0]
    return ""


def _fiscal_year(last_day: str) -> str:
    """Return the fiscal year: one that ends in the first days of January is the year before."""
    year = int(last_day[-4:])
    return str(year - 1 if FIRST_WEEK.match(last_day) else year)
