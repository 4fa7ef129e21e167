"""Test collections in BEIR's layout, for the benchmarks: corpus.jsonl, queries.jsonl, qrels/."""

import sys
from pathlib import Path

from evaluation.golden.formats import Article, read_beir, read_corpus

__all__ = ["Article", "BeirCollection"]


class BeirCollection:
    """The documents of a folder, its judged queries, and their relevant documents."""

    def __init__(self, folder: Path) -> None:
        articles = list(read_corpus(folder))
        self.articles = [article for article in articles if article.whole]
        self.empty = [article.name for article in articles if not article.whole]
        if self.empty:
            named = ", ".join(self.empty[:10])
            sys.stderr.write(f"{folder.name}: {len(self.empty)} empty documents skipped: {named}\n")
        self.relevant: dict[str, dict[str, int]] = {}
        self.queries: dict[str, str] = {}
        for question in read_beir(folder)[0]:
            grades = {a.source_uri: a.grade for a in question.answers if a.grade > 0}
            if grades:
                self.relevant[question.external_id] = grades
                self.queries[question.external_id] = question.text

    @property
    def ids(self) -> list[str]:
        return [article.name for article in self.articles]

    @property
    def texts(self) -> list[str]:
        return [article.whole for article in self.articles]
