"""Measure whether the page with the evidence is found, for questions over annual reports.

    make bench-filings DATA=FOLDER      (pdfs/*.pdf and questions.jsonl)

One question per line: `filing` (the PDF's name without its ending), `question`, and `evidence`, a
list of {"page"} numbered from 1. Each is searched in its filing, then in all.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evaluation.benchmarks.data.quoting import share
from evaluation.benchmarks.service.client import Service, say
from evaluation.benchmarks.service.uploads import (
    arguments_for,
    documents_by_name,
    open_with,
    set_up,
)

CUTOFFS = (1, 3, 5, 10)


@dataclass(frozen=True, slots=True)
class PageQuestion:
    id: str
    filing: str
    text: str
    pages: frozenset[int]


def load_questions(path: Path) -> list[PageQuestion]:
    questions = []
    with path.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, start=1):
            if line.strip():
                row = json.loads(line)
                pages = frozenset(int(evidence["page"]) for evidence in row["evidence"])
                name = str(row.get("id", number))
                questions.append(PageQuestion(name, row["filing"], row["question"], pages))
    return questions


def rank_of_evidence(
    results: Sequence[Mapping[str, Any]], document_id: str, pages: frozenset[int]
) -> int | None:
    """Return the rank from 1; None if no result begins on such a page of that document."""
    for rank, hit in enumerate(results, start=1):
        if hit["document_id"] == document_id and hit["page"] in pages:
            return rank
    return None


def ask(
    service: Service,
    questions: Sequence[PageQuestion],
    documents: Mapping[str, str],
    *,
    inside: bool,
) -> list[int | None]:
    ranks = []
    for question in questions:
        document = documents[f"{question.filing}.pdf"]
        filters = {"filters": {"document_ids": [document]}} if inside else {}
        body = {"query": question.text, "k": max(CUTOFFS), **filters}
        ranks.append(
            rank_of_evidence(service.post("query", body)["results"], document, question.pages)
        )
    return ranks


def row(name: str, ranks: Sequence[int | None]) -> str:
    cells = [share([float(r is not None and r <= k) for r in ranks]) for k in CUTOFFS]
    return f"| {name} | " + " | ".join(cells) + " |"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = arguments_for((__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--misses", action="store_true", help="List questions whose page is not in the first 5."
    )
    options = parser.parse_args(arguments)
    questions = load_questions(options.data / "questions.jsonl")
    set_up(options.home)
    service = open_with("filings", sorted((options.data / "pdfs").glob("*.pdf")))
    documents = documents_by_name(service)
    unread = sorted({q.filing for q in questions if f"{q.filing}.pdf" not in documents})
    if unread:
        say(f"Not read, their questions are left out: {', '.join(unread)}")
    asked = [question for question in questions if question.filing not in unread]
    found = {
        "inside the filing": ask(service, asked, documents, inside=True),
        f"over all {len(documents)} filings": ask(service, asked, documents, inside=False),
    }
    say(f"\n{len(asked)} questions, {len(documents)} filings\n")
    say("| | " + " | ".join(f"page@{k}, 95 %" for k in CUTOFFS) + " |")
    say("|---|" + "--:|" * len(CUTOFFS))
    for name, ranks in found.items():
        say(row(name, ranks))
    for name, ranks in found.items() if options.misses else ():
        say(f"\nNot in the first 5, {name}:")
        for question, rank in zip(asked, ranks, strict=True):
            if rank is None or rank > 5:
                pages = ", ".join(map(str, sorted(question.pages)))
                say(f"- {question.filing} p. {pages}, rank {rank or '–'}: {question.text}")


if __name__ == "__main__":
    main()
