"""Questions with quotations of their answers, and the contexts that contain them.

A folder has `docs/` and `questions.jsonl` with one question per line: id, doc, type, question,
answer, and `quote` (with equally good ones in `also`) or `quotes`, which are all needed. Plain
Python.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evaluation.measures import metrics
from evaluation.measures.answers import collapsed, holds

_BLOCK = re.compile(r"^\[\d+\] ", re.MULTILINE)
_DELIMITER = re.compile(r"\s*\|?\s*:?-{2,}:?\s*(\|\s*:?-{2,}:?\s*)*\|?\s*")


@dataclass(frozen=True, slots=True)
class QuotedQuestion:
    id: str
    doc: str
    type: str
    text: str
    answer: str
    needed: tuple[tuple[str, ...], ...]  # for each part, one of these
    instead: tuple[str, ...] = ()  # any of these can replace all needed parts

    def is_answered_by(self, context: str) -> bool:
        return holds(context, self.needed) or any(holds(context, [[t]]) for t in self.instead)


def load_questions(path: Path) -> list[QuotedQuestion]:
    with path.open(encoding="utf-8") as lines:
        return [_question(json.loads(line)) for line in lines if line.strip()]


def _question(row: dict[str, Any]) -> QuotedQuestion:
    parts = row.get("quotes") or [row["quote"]]
    return QuotedQuestion(
        id=row["id"],
        doc=row.get("doc", ""),
        type=row.get("type", ""),
        text=row["question"],
        answer=str(row.get("answer", "")),
        needed=tuple(tuple(part) if isinstance(part, list) else (part,) for part in parts),
        instead=tuple(row.get("also", ())),
    )


@dataclass(frozen=True)
class Contexts:
    """The context that one system returns for each question, by id."""

    name: str
    texts: dict[str, str]
    tokens: dict[str, int]

    def answered(self, questions: Iterable[QuotedQuestion]) -> list[float]:
        return [float(question.is_answered_by(self.texts[question.id])) for question in questions]

    def mean_tokens(self) -> float:
        return sum(self.tokens.values()) / max(1, len(self.tokens))


def cut_to_budget(
    passages: Iterable[str], budget: int, *, token_ends: Callable[[str], Sequence[int]]
) -> tuple[str, int]:
    """Return (context, tokens): whole passages in order of rank, the last one cut at the budget.
    `token_ends` returns the end of each token of a text."""
    kept, left = [], budget
    for passage in passages:
        ends = token_ends(passage)
        if len(ends) > left:
            if left:
                kept.append(passage[: ends[left - 1]])
            left = 0
            break
        kept.append(passage)
        left -= len(ends)
    return "\n\n".join(kept), budget - left


# -- table rows that come with their header ------------------------------------------------


def header_of_rows(texts: Iterable[str]) -> dict[str, set[str]]:
    """Map each table row of these Markdown texts (white space collapsed) to its headers."""
    headers: dict[str, set[str]] = {}
    for text in texts:
        lines = [collapsed(line) for line in text.splitlines()]
        header = ""
        for number, line in enumerate(lines):
            below = lines[number + 1] if number + 1 < len(lines) else ""
            if "|" in line and "|" in below and _DELIMITER.fullmatch(below):
                header = line
            elif "|" not in line:
                header = ""
            elif header and not _DELIMITER.fullmatch(line):
                headers.setdefault(line, set()).add(header)
    return headers


def table_rows(context: str, headers: Mapping[str, Set[str]]) -> list[tuple[str, bool]]:
    """Yield each table row in the context, and whether its header is in the same numbered block."""
    rows = []
    for block in _BLOCK.split(context):
        flat = collapsed(block)
        for line in map(collapsed, block.splitlines()):
            if line in headers:
                rows.append((line, any(header in flat for header in headers[line])))
    return rows


# -- tables for people ----------------------------------------------------------------------


def share(values: Sequence[float]) -> str:
    """Format a mean with its interval: .887 [.827, .940]"""
    estimate = metrics.estimate(values)
    mean, low, high = (
        f"{figure:.3f}".removeprefix("0") for figure in (estimate.mean, estimate.low, estimate.high)
    )
    return f"{mean} [{low}, {high}]"


def gain(ours: Sequence[float], theirs: Sequence[float]) -> str:
    difference = metrics.difference(theirs, ours)
    return f"{difference.gain:+.3f} [{difference.low:+.3f}, {difference.high:+.3f}]"


def report(
    questions: Sequence[QuotedQuestion], budgets: Sequence[tuple[str, Sequence[Contexts]]]
) -> Iterator[str]:
    """Return a table for each budget, comparing the first system with the others."""
    types = list(dict.fromkeys(question.type for question in questions))
    by_type = {name: [q for q in questions if q.type == name] for name in types}
    for title, systems in budgets:
        yield f"\n### {title}\n"
        heads = [f"{name} ({len(by_type[name])})" for name in types]
        yield "| | answer@context, 95 % | tokens | ours − theirs | " + " | ".join(heads) + " |"
        yield "|---|--:|--:|--:|" + "--:|" * len(types)
        ours = systems[0].answered(questions)
        for system in systems:
            answered = system.answered(questions)
            cells = [share(answered), f"{system.mean_tokens():.0f}"]
            cells.append("" if system is systems[0] else gain(ours, answered))
            for name in types:
                found = system.answered(by_type[name])
                cells.append(f"{sum(found) / len(found):.3f}".removeprefix("0"))
            yield f"| {system.name} | " + " | ".join(cells) + " |"


def misses(questions: Sequence[QuotedQuestion], contexts: Contexts) -> Iterator[str]:
    for question in questions:
        context = contexts.texts[question.id]
        if not question.is_answered_by(context):
            absent = [part[0] for part in question.needed if not holds(context, [part])]
            yield f"- {question.id} ({question.doc}): {question.text}"
            yield from (f"    missing: {collapsed(text)[:160]}" for text in absent)
