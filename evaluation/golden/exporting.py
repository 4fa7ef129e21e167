"""Export golden sets: in the formats of import, and as training data for rerankers."""

import json
from collections.abc import Iterator
from pathlib import Path

from documents.models import Document
from evaluation.models import GoldenSet, Judgement

from .curating import live_text
from .formats import Article, GoldenAnswer, GoldenQuestion, write_beir


def questions_of(golden_set: GoldenSet) -> list[GoldenQuestion]:
    """Return the set's queries and judgements. Inside namespace() or operator(), like all of
    these."""
    return [
        GoldenQuestion(
            text=query.text,
            external_id=query.external_id,
            filters=query.filters,
            tags=query.tags,
            notes=query.notes,
            answers=[
                GoldenAnswer(
                    source_uri=judgement.source_uri,
                    grade=judgement.grade,
                    quote=judgement.quote,
                    start=judgement.start,
                    end=judgement.end,
                    hard_negative=judgement.is_hard_negative,
                    part=judgement.part,
                )
                for judgement in query.judgements.all()
            ],
        )
        for query in golden_set.queries.prefetch_related("judgements")
    ]


def export_beir(golden_set: GoldenSet, folder: Path) -> None:
    """Export a BEIR folder whose corpus is everything searchable in the namespace."""
    write_beir(folder, questions_of(golden_set), _corpus(golden_set))


def _corpus(golden_set: GoldenSet) -> Iterator[Article]:
    documents = Document.objects.filter(namespace=golden_set.namespace_id)
    for document in documents.exclude(live_version=None).order_by("created_at", "id"):
        yield Article(document.source_uri, document.title, live_text(document))


def training_rows(golden_set: GoldenSet) -> Iterator[str]:
    """Write JSON lines {"query", "positive", "grade", "negatives"}: one for each relevant answer of
    a query with hard negatives."""
    for query in golden_set.queries.prefetch_related("judgements__document"):
        judgements = list(query.judgements.all())
        negatives = [_text(j) for j in judgements if j.is_hard_negative]
        for judgement in judgements:
            if judgement.grade > 0 and negatives:
                row = {
                    "query": query.text,
                    "positive": _text(judgement),
                    "grade": judgement.grade,
                    "negatives": negatives,
                }
                yield json.dumps(row, ensure_ascii=False) + "\n"


def _text(judgement: Judgement) -> str:
    if judgement.quote or judgement.document is None:
        return judgement.quote
    return live_text(judgement.document)
