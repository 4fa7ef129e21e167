"""Find numbers, dates and times in a text, and those in an answer that no source states."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from typing import Literal

import regex

from retrieval.answering.checks.claims import answer_sentences, uncited_sentences
from retrieval.answering.requests import Citation, Evidence, Uncertainty

from .number_words import MONTHS, NUMBERS, SCALES, unit_of

__all__ = ["Value", "find_values", "uncited_sentences", "unsupported_values"]

ValueKind = Literal["number", "percent", "money", "date", "month", "time", "version"]

_MONTH = "|".join(sorted(MONTHS, key=len, reverse=True))
_SCALE = "|".join(sorted(SCALES, key=len, reverse=True))
_WORDS = "|".join(sorted(NUMBERS, key=len, reverse=True))
_FIGURES = r"\p{Nd}{1,3}(?:[ ]\p{Nd}{3})+(?![\p{Nd}.,])|\p{Nd}+(?:[.,'’\u00a0\u202f]\p{Nd}+)*"
_CURRENCY = r"[$€£¥₹]|(?:USD|EUR|GBP|CHF|JPY|CAD|AUD|US\$)\b"
_VALUE = regex.compile(
    rf"""
    (?P<iso>(?<![\w-])\d{{4}}-\d{{1,2}}-\d{{1,2}}(?![\w-]))
    | (?P<slashed>(?<![\w./-])\d{{1,2}}[./-]\d{{1,2}}[./-](?:\d{{4}}|\d{{2}})(?![\w/-]|\.\d))
    | (?P<daymonth>(?<!\w)\d{{1,2}}(?:st|nd|rd|th|er|º|\.)?\s+(?:of\s+|de\s+)?
        (?:{_MONTH})\b\.?(?:,?\s+(?:de\s+)?\d{{4}}(?!\w))?)
    | (?P<monthday>\b(?:{_MONTH})\b\.?\s+\d{{1,2}}(?:st|nd|rd|th)?(?!\w|[.:,]\d)
        (?:,?\s+\d{{4}}(?!\w))?)
    | (?P<month>\b(?:{_MONTH})\b\.?\s+(?:de\s+|of\s+)?\d{{4}}(?!\w))
    | (?P<time>(?<![\w:])\d{{1,2}}[:h]\d{{2}}(?::\d{{2}})?(?:\s?[ap]\.?m\b\.?)?(?![\w:])
        |(?<![\w.])\d{{1,2}}\s?[ap]\.?m\b\.?)
    | (?P<version>\bv\.?\s?\d+(?:\.\d+)*(?!\w)|(?<![\w.])\d+(?:\.\d+){{2,}}(?!\w))
    | (?P<amount>(?P<before>(?:{_CURRENCY})\s?)?
        (?P<sign>(?<![\w.)\]])[-−])?(?<![\p{{L}}\p{{N}}_.])(?P<figures>{_FIGURES})
        (?:[\s-]?(?P<scale>{_SCALE})\b\.?)?
        (?P<after>\s?(?:%|‰|per\s?cent\b|Prozent\b|pour\s?cent\b|por\s?ciento\b|{_CURRENCY}
            |(?:euros?|dollars?|pounds?|Franken|francs?|yen)\b))?)
    | (?P<words>\b(?:{_WORDS})(?:[\s-](?:{_WORDS}|{_SCALE}))?\b)
    """,
    regex.VERBOSE | regex.IGNORECASE,
)
_PERCENT = regex.compile(r"%|‰|per\s?cent|prozent|pour\s?cent|por\s?ciento", regex.IGNORECASE)
_NEXT_WORD = regex.compile(r"[\s\-]+(?P<word>\p{L}+)")
_LETTER = regex.compile(r"\p{L}")
_GROUPS = regex.compile(r"\d{1,3}(?:([.,'’\u00a0\u202f])\d{3})(?:\1\d{3})*")
YEAR = regex.compile(r"(?:19|20)\d\d")
_IN_WORDS = regex.compile(r"(?<=\p{L}[-_]?)\d+(?:[.,]\d+)*|\d+(?:[.,]\d+)*(?=[-_]?\p{L})")
_SPACED_GROUPS = regex.compile(r"(?<!\d)\d{1,3}(?: \d{3})+(?!\d)")
_LIST_NUMBER = regex.compile(
    r"^[ \t>*_]*(?:\(?\d{1,3}[.)]|#+ \d+(?:\.\d+)*\.?)(?=\s)", regex.MULTILINE
)


@dataclass(frozen=True, slots=True)
class Value:
    kind: ValueKind
    text: str
    start: int
    end: int
    keys: frozenset[str]  # possible meanings, normalised; several if ambiguous
    unit: str = ""  # the word after it, or its currency
    scale: str = ""  # "million" and the like
    figures: str = ""  # as written, without the scale
    is_word: bool = False  # "two"


def find_values(text: str) -> list[Value]:
    """Return all values of a text, in order."""
    return [value for found in _VALUE.finditer(text) if (value := _value(text, found))]


def _value(text: str, found: "regex.Match[str]") -> Value | None:
    kind = found.lastgroup if found.lastgroup in ("words", "amount") else _group(found)
    match kind:
        case "iso" | "slashed" | "daymonth" | "monthday" | "month":
            return _date(kind, found)
        case "time":
            return Value("time", found[0], found.start(), found.end(), _time_keys(found[0]))
        case "version":
            return _version(found)
        case "words":
            return _in_words(text, found)
        case _:
            return _amount(text, found)


def _group(found: "regex.Match[str]") -> str:
    names = ("iso", "slashed", "daymonth", "monthday", "month", "time", "version", "words")
    return next((name for name in names if found[name]), "amount")


def _date(kind: str, found: "regex.Match[str]") -> Value | None:
    written = found[0]
    figures = [int(figure) for figure in regex.findall(r"\d+", written)]
    name = next((MONTHS[w] for w in regex.findall(r"\p{L}+", written.lower()) if w in MONTHS), 0)
    keys: set[str] = set()
    match kind:
        case "iso":
            keys = _days(figures[0], (figures[1], figures[2]))
        case "slashed":
            year = figures[2] + (2000 if figures[2] < 70 else 1900) * (figures[2] < 100)
            keys = _days(year, (figures[1], figures[0]), (figures[0], figures[1]))
        case "month":
            return Value(
                "month", written, found.start(), found.end(), frozenset({f"{figures[0]}-{name:02}"})
            )
        case _ if len(figures) > 1:
            keys = _days(figures[1], (name, figures[0]))
        case _:
            keys = {f"--{name:02}-{figures[0]:02}"}
    return Value("date", written, found.start(), found.end(), frozenset(keys)) if keys else None


def _days(year: int, *days: tuple[int, int]) -> set[str]:
    keys: set[str] = set()
    for month, day in days:
        try:
            keys.add(date(year, month, day).isoformat())
        except ValueError:
            continue
    return keys


def _time_keys(written: str) -> frozenset[str]:
    hour, *rest = [int(figure) for figure in regex.findall(r"\d+", written)]
    minute = rest[0] if rest else 0
    half = regex.search(r"[ap](?=\.?m)", written.lower())
    if half:
        hour = hour % 12 + (12 if half[0] == "p" else 0)
        return frozenset({f"{hour:02}:{minute:02}"})
    return frozenset(
        {f"{hour:02}:{minute:02}", f"{hour + 12:02}:{minute:02}"}
        if hour < 12
        else {f"{hour:02}:{minute:02}"}
    )


def _version(found: "regex.Match[str]") -> Value:
    figures = found[0].lower().lstrip("v. ")
    keys = {f"v{figures}"}
    if _GROUPS.fullmatch(figures):  # 1.000.000 in many languages
        return Value(
            "number", found[0], found.start(), found.end(), frozenset(_meanings(figures) | keys)
        )
    return Value("version", found[0], found.start(), found.end(), frozenset(keys))


def _in_words(text: str, found: "regex.Match[str]") -> Value | None:
    parts = regex.split(r"[\s-]", found[0].lower())
    number = NUMBERS[parts[0]]
    if len(parts) > 1:
        more = NUMBERS.get(parts[1]) or SCALES[parts[1]]
        number = number * more if more >= 100 else number + more
    unit = _unit_after(text, found.end())
    return Value(
        "number", found[0], found.start(), found.end(), frozenset({str(number)}), unit, is_word=True
    )


def _amount(text: str, found: "regex.Match[str]") -> Value | None:
    end = found.end()
    if not found["scale"] and not found["after"] and _LETTER.match(text, end):
        glued = regex.compile(r"\p{L}+").match(text, end)
        if glued and unit_of(glued[0]) is None and len(glued[0]) > 3:
            return None  # "3D-printed": part of a name
    scale = SCALES[found["scale"].lower()] if found["scale"] else 1
    meanings = _meanings(found["figures"])
    keys = {_key(Decimal(meaning) * scale) for meaning in meanings}
    around = f"{found['before'] or ''}{found['after'] or ''}".strip()
    kind: ValueKind = "number"
    unit = _unit_after(text, end)
    if _PERCENT.search(around):
        kind, unit = "percent", "%"
    elif around:
        kind, unit = "money", around.lower()
    return Value(
        kind, found[0].strip(), found.start(), end, frozenset(keys), unit,
        (found["scale"] or "").lower(), found["figures"],
    )  # fmt: skip


def _unit_after(text: str, end: int) -> str:
    word = _NEXT_WORD.match(text, end)
    return word["word"].lower() if word else ""


def _key(number: Decimal) -> str:
    return format(number.normalize(), "f")


@lru_cache(maxsize=4096)
def _meanings(figures: str) -> set[str]:
    """1,000 and 1.000 are a thousand or one, depending on the language; 1,000.50 is unambiguous."""
    plain = regex.sub(r"['’ \u00a0\u202f]", "", figures)
    separators = [c for c in plain if c in ".,"]
    candidates: set[str] = set()
    if not separators:
        candidates = {plain}
    elif len(set(separators)) == 2:
        last = separators[-1]
        other = "," if last == "." else "."
        candidates = {plain.replace(other, "").replace(last, ".")}
    else:
        if _GROUPS.fullmatch(plain):
            candidates.add(plain.replace(separators[0], ""))
        if len(separators) == 1:
            candidates.add(plain.replace(",", "."))
        candidates = candidates or {regex.sub("[.,]", "", plain)}
    keys: set[str] = set()
    for candidate in candidates:
        try:
            keys.add(_key(Decimal(candidate)))
        except InvalidOperation:
            continue
    return keys


class _Stated:
    """Everything that the passages state, in every form in which it may be repeated."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.text = "\n".join(texts)
        self._folded = self.text.lower()
        self.keys = set(_repeatable(self.text))

    def states(self, value: Value) -> bool:
        if value.keys & self.keys:
            return True
        if value.scale and value.scale in self._folded:
            return bool(_meanings(value.figures) & self.keys)  # a column "in millions"
        return False


def _repeatable(text: str) -> Iterator[str]:
    for value in find_values(text):
        yield from value.keys
        match value.kind:
            case "date" | "month":
                for key in value.keys:
                    yield key[:7]  # its month
                    yield f"-{key[4:]}"  # without its year
                yield from YEAR.findall(value.text)
            case "version":
                for beginning in _beginnings(value.text.lower().lstrip("v. ")):
                    yield f"v{beginning}"
                    yield from _meanings(beginning)
            case "number":
                yield f"v{value.figures}"
    for groups in _SPACED_GROUPS.finditer(text):
        yield from groups[0].split(" ")
    for figures in _IN_WORDS.finditer(text):  # the 12 of B12
        yield from _meanings(figures[0])


def _beginnings(version: str) -> Iterator[str]:
    parts = version.split(".")
    for count in range(1, len(parts) + 1):
        yield ".".join(parts[:count])


def _words_of(evidence: Evidence) -> tuple[str, ...]:
    hit = evidence.hit
    as_of = evidence.as_of.date().isoformat() if evidence.as_of else ""
    return hit.content, hit.title, hit.section, hit.table_header, as_of


def unsupported_values(
    text: str, citations: Sequence[Citation], *, question: str = "", language: str = "en"
) -> tuple[Uncertainty, ...]:
    """Return values of cited sentences that are in none of the passages they cite."""
    stated: dict[tuple[str, ...], _Stated] = {}
    asked = _Stated([question])
    found: list[Uncertainty] = []
    numbering = [span.span() for span in _LIST_NUMBER.finditer(text)]
    for sentence in answer_sentences(text, citations, language=language):
        if not sentence.citations:
            continue
        ids = tuple(sorted({citation.id for citation in sentence.citations}))
        if ids not in stated:
            passages = {citation.id: citation.evidence for citation in sentence.citations}
            stated[ids] = _Stated([part for name in ids for part in _words_of(passages[name])])
        for value in find_values(sentence.text):
            start, end = sentence.start + value.start, sentence.start + value.end
            is_numbering = any(low <= start < high for low, high in numbering)
            if is_numbering or not _is_checkable(value):
                continue
            if not stated[ids].states(value) and not asked.states(value):
                message = f"“{value.text}” stands in none of the passages that this sentence cites."
                found.append(
                    Uncertainty("unsupported_value", message, answer_start=start, answer_end=end)
                )
    return tuple(found)


def _is_checkable(value: Value) -> bool:
    """ "one of them" states no value; "three months" does."""
    return not value.is_word or unit_of(value.unit) is not None or value.unit in ("percent", "per")
