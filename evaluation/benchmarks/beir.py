"""Test collections in BEIR's layout: corpus.jsonl, queries.jsonl, qrels/test.tsv."""

import json
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Article:
    name: str
    title: str
    text: str

    @property
    def whole(self) -> str:
        return f"{self.title} {self.text}".strip()


class Collection:
    """The documents of a folder, its judged queries, and what is relevant to each."""

    def __init__(self, folder: Path) -> None:
        with (folder / "corpus.jsonl").open() as lines:
            rows = [json.loads(line) for line in lines]
        self.articles = [Article(row["_id"], row.get("title", ""), row["text"]) for row in rows]
        self.relevant: dict[str, dict[str, int]] = {}
        for line in (folder / "qrels" / "test.tsv").read_text().splitlines()[1:]:
            query, document, grade = line.split("\t")
            if int(grade) > 0:
                self.relevant.setdefault(query, {})[document] = int(grade)
        with (folder / "queries.jsonl").open() as lines:
            asked = [json.loads(line) for line in lines]
        self.queries = {q["_id"]: q["text"] for q in asked if q["_id"] in self.relevant}

    @property
    def ids(self) -> list[str]:
        return [article.name for article in self.articles]

    @property
    def texts(self) -> list[str]:
        return [article.whole for article in self.articles]
