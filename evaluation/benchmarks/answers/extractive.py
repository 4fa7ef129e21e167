"""Measure whether the built-in writer finds the answer, and abstains when there is none.

    make bench-extractive DATA=FOLDER      (xquad.en.json and other languages of XQuAD)

Paragraphs are uploaded by POST /ingest, as separate documents and then as one document per
article. Every question goes through the default search, once with everything there, once without
the document that answers it, and once without its whole article.
"""

import json
import re
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from evaluation.benchmarks.service import stage
from evaluation.benchmarks.service.client import Service, open_service, say
from evaluation.benchmarks.service.uploads import arguments_for, set_up

MARKER = re.compile(r"\s\[cite:\w+\]")
LAYOUTS = ("paragraph", "article")
BATCH = 60
MIN_RELEVANCE = 0.2
HEADER = (
    "| documents | language | questions | hit@1 | hit@3 | in the right document | in the answer | "
    "units | refused | refused: document removed | article removed |\n"
    "|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|"
)


@dataclass(frozen=True, slots=True)
class Asked:
    text: str
    answers: tuple[str, ...]
    article: int
    document: str  # source_uri of the document with the answer


@dataclass(frozen=True, slots=True)
class AnswerOutcome:
    best: bool  # the first unit holds an answer
    best_three: bool
    right_document: bool  # the first unit contains an answer, from the question's own document
    emitted: bool  # the written answer contains one, even if it would be withheld
    units: int
    refused: bool
    refused_without_document: bool
    refused_without_article: bool


def load(path: Path, layout: str) -> tuple[list[dict[str, Any]], list[Asked]]:
    """Return the documents to ingest, and the questions."""
    documents, questions = [], []
    for number, article in enumerate(json.loads(path.read_text(encoding="utf-8"))["data"]):
        title = str(article.get("title") or f"Article {number}").replace("_", " ")
        contexts = [paragraph["context"] for paragraph in article["paragraphs"]]
        texts = contexts if layout == "paragraph" else ["\n\n".join(contexts)]
        for place, text in enumerate(texts):
            name = f"{number}-{place}"
            document = {"content": text, "title": title, "source_uri": name}
            metadata = {"article": number, "document": name}
            documents.append({**document, "media_type": "text/plain", "metadata": metadata})
        for place, paragraph in enumerate(article["paragraphs"]):
            name = f"{number}-{place if layout == 'paragraph' else 0}"
            for each in paragraph["qas"]:
                answers = tuple(answer["text"] for answer in each["answers"])
                questions.append(Asked(each["question"], answers, number, name))
    return documents, questions


def take_in(service: Service, documents: Sequence[dict[str, Any]]) -> None:
    from documents.ingestion import terms
    from documents.jobs import queue

    queue.requeue_stalled()  # left over from an earlier run that was killed
    for start in range(0, len(documents), BATCH):
        batch = documents[start : start + BATCH]
        service.post("ingest", {"documents": batch, "on_duplicate": "keep"})
        stage.work()
    terms.count(service.namespace_id, service.profile)


class Asker:
    """Asks one namespace through the answer pipeline, without HTTP."""

    def __init__(self, service: Service, *, language: str, score_pairs: Any = None) -> None:
        from documents.profiles import profiles
        from retrieval.answering.writers.extractive import ExtractiveWriter

        self.service = service
        self.language = language
        self.writer = ExtractiveWriter(score_pairs=score_pairs)
        self.embedder = profiles.embedder_of(service.profile)

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        return [vector for batch in self.embedder.embed_documents(texts) for vector in batch]

    def task(self, question: str, without: dict[str, Any] | None, *, least: float) -> Any:
        from retrieval.answering.requests import AnswerRequest, Evidence, Preferences
        from retrieval.answering.writers.base import WritingTask
        from retrieval.filters import Filters, parse_metadata
        from retrieval.requests import SearchRequest
        from retrieval.search import search

        filters = Filters(metadata=parse_metadata(without)) if without else Filters()
        request = SearchRequest(question, filters=filters, for_answer=True)
        found = search(self.service.namespace_id, request)
        if found.diagnostics.fallbacks:
            raise SystemExit(f"{question}: {found.diagnostics.fallbacks}")
        return WritingTask(
            question=question,
            evidence=tuple(Evidence(f"e{n}", hit) for n, hit in enumerate(found.hits)),
            request=AnswerRequest(request),
            preferences=Preferences(),
            min_relevance=least,
            embed=self.embed,
            language=self.language,
        )

    def written(self, task: Any) -> list[str]:
        """Return the pieces of the answer; none if it abstains."""
        from retrieval.answering.writers.base import NotEnoughInformation

        deadline = time.monotonic() + 60
        try:
            pieces = list(self.writer.write(task, deadline=deadline, cancelled=threading.Event()))
        except NotEnoughInformation:
            return []
        return [MARKER.sub("", piece.text) for piece in pieces if piece.text]

    def is_refused(self, question: str, without: dict[str, Any] | None) -> bool:
        return not self.written(self.task(question, without, least=MIN_RELEVANCE))

    def outcome(self, asked: Asked) -> AnswerOutcome:
        from retrieval.answering.writers.extractive.choosing import distinct
        from retrieval.answering.writers.extractive.units import shown_text

        task = self.task(asked.text, None, least=0.0)
        best = list(islice(distinct(self.writer.rank(task), task.evidence), 3))
        texts = [shown_text(ranked.unit, task.evidence) for ranked in best]
        holds = [any(answer in text for answer in asked.answers) for text in texts]
        written = self.written(task)
        sources = [task.evidence[ranked.unit.passage].hit.source_uri for ranked in best]
        return AnswerOutcome(
            best=any(holds[:1]),
            best_three=any(holds),
            right_document=any(holds[:1]) and sources[0] == asked.document,
            emitted=any(answer in "".join(written) for answer in asked.answers),
            units=len(written),
            refused=self.is_refused(asked.text, None),
            refused_without_document=self.is_refused(
                asked.text, {"document": {"$ne": asked.document}}
            ),
            refused_without_article=self.is_refused(
                asked.text, {"article": {"$ne": asked.article}}
            ),
        )


def row(layout: str, language: str, outcomes: Sequence[AnswerOutcome]) -> str:
    def share(name: str) -> str:
        return f"{sum(getattr(outcome, name) for outcome in outcomes) / len(outcomes):.3f}"

    names = (
        "best", "best_three", "right_document", "emitted", "units", "refused",
        "refused_without_document", "refused_without_article",
    )  # fmt: skip
    figures = " | ".join(share(name) for name in names)
    return f"| one for each {layout} | {language} | {len(outcomes)} | {figures} |"


def cross_encoder(directory: Path | None) -> Any:
    if directory is None:
        return None
    from retrieval.rerankers.base import RerankPassage
    from retrieval.rerankers.onnx import OnnxReranker

    reranker = OnnxReranker(str(directory))

    def score_pairs(question: str, texts: Sequence[str]) -> list[float]:
        passages = [RerankPassage(text) for text in texts]
        return reranker.rerank(question, passages, deadline=time.monotonic() + 60)

    return score_pairs


def rows(options: Any) -> Iterator[str]:
    for language in options.languages:
        for layout in options.layouts:
            documents, questions = load(options.data / f"xquad.{language}.json", layout)
            service = open_service(f"xquad-{language}-{layout}")
            take_in(service, documents)
            score_pairs = cross_encoder(options.cross_encoder)
            asker = Asker(service, language=language, score_pairs=score_pairs)
            yield row(layout, language, [asker.outcome(asked) for asked in questions])


def main(arguments: Sequence[str] | None = None) -> None:
    parser = arguments_for((__doc__ or "").splitlines()[0])
    parser.add_argument("--languages", nargs="+", default=["en"])
    parser.add_argument("--layouts", nargs="+", choices=LAYOUTS, default=list(LAYOUTS))
    parser.add_argument("--cross-encoder", type=Path, help="Folder of an exported one; else none.")
    options = parser.parse_args(arguments)
    set_up(options.home)
    say(HEADER)
    for line in rows(options):
        say(line)


if __name__ == "__main__":
    main()
