"""What a person would call a PDF: a filing's company, form and period, or its largest words."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from documents.extractors.lines import Line

MAX_NAME_CHARACTERS = 200
COVER_LINES = 60  # of a page: a form's cover has all of it above
COMMISSION = re.compile(r"(?i)\bsecurities\s+and\s+exchange\s+commission\b")
FORM = re.compile(r"(?i)\W*form\s+((?:\d{1,2}|[NSF])-[A-Z\d]{1,3}(?:/A)?)\W*$")
REGISTRANT = re.compile(r"(?i)\W*\(?exact name of (?:the )?registrant")
MONTHS = "January|February|March|April|May|June|July|August|September|October|November|December"
DATE = re.compile(rf"(?i)\b(?:{MONTHS})\s+\d{{1,2}},?\s*\d{{4}}\b")
FIRST_WEEK = re.compile(r"(?i)january\s+[1-7],")
YEAR_ENDED = re.compile(r"(?i)\bfiscal\s+year\s+ended\b|\bfor\s+the\s+year\s+ended\b")
PERIOD_ENDED = re.compile(r"(?i)\b(?:period|quarter)\s+ended\b|\bdate\s+of\s+(?:report|earliest)\b")
LETTERS = re.compile(r"[^\W\d_]{2}")
# What stands in large letters on the first page of many files and names none of them.
BOILERPLATE = re.compile(
    r"(?i)\W*(?:united states(?: of america)?|(?:united states )?securities and exchange commission"
    r"|washington,? d\.? ?c\.?.*|form \S+|.*\bpursuant to section\b.*|(?:press|news|media) release"
    r"|for (?:immediate )?release.*|exhibit \S+|confidential|draft|preliminary|copy|page \d+"
    r"|commission file.*|\(?mark one\)?|or"
    rf"|(?:{MONTHS}) \d{{1,2}}, \d{{4}}"
    r")\W*$"
)
# No title: a number such as a filing's at its registry, or one of a contents list's names.
NUMBERED = re.compile(r"(?i)(?:table of )?contents$|inhalt|sommaire$|índice$|\d+(?:\.\d+)*[.)]?\s")


def is_boilerplate(words: str) -> bool:
    return bool(BOILERPLATE.match(words))


def names_nothing(words: str) -> bool:
    """Whether these words cannot be a document's title, however large they are."""
    return not words or is_boilerplate(words) or bool(NUMBERED.match(words))


class Cover(NamedTuple):
    """What the first page of a form says that a company files with a securities commission."""

    company: str
    form: str
    period: str

    @property
    def title(self) -> str:
        """Such as "3M COMPANY Form 10-K 2022"."""
        return " ".join(filter(None, (self.company, "Form", self.form, self.period)))


def cover_of(page: Sequence[Line]) -> Cover | None:
    lines = page[:COVER_LINES]
    if not any(COMMISSION.search(line.text) for line in lines):
        return None
    form = next((found[1].upper() for line in lines if (found := FORM.match(line.text))), "")
    company = _company(lines) if form else ""
    return Cover(company[:MAX_NAME_CHARACTERS], form, _period(lines)) if company else None


def _company(lines: Sequence[Line]) -> str:
    """The name above "(Exact name of registrant …)", or the largest that is no boilerplate."""
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
    """The year of an annual report, the day of another."""
    for number, line in enumerate(lines):
        is_annual = YEAR_ENDED.search(line.text)
        if is_annual or PERIOD_ENDED.search(line.text):
            following = " ".join(below.text for below in lines[number : number + 2])
            if date := DATE.search(following):
                return _fiscal_year(date[0]) if is_annual else date[0]
    return ""


def _fiscal_year(last_day: str) -> str:
    """A year of 52 weeks that ends in the first days of January is named after the one before."""
    year = int(last_day[-4:])
    return str(year - 1 if FIRST_WEEK.match(last_day) else year)
