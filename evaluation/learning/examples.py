"""Training examples: the texts that answer a question, and similar ones that do not.

Inside namespace(). The order never depends on the database, so that the same data gives the same
file.
"""

import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from documents.models import Chunk, Document
from evaluation.golden.curating import live_text
from evaluation.golden.feedback import GRADES
from evaluation.models import Feedback, GoldenQuery, Judgement, SelectedPassage
from retrieval.models import QueryLog
from retrieval.query_log import is_hashed

BATCH = 200  # questions read together

JUDGED = "judged_irrelevant"
NOT_USEFUL = "not_useful"
NOT_SELECTED = "ranked_above_and_not_selected"


@dataclass(frozen=True, slots=True)
class ExamplePassage:
    """A text with its position. Without start and end it is a whole document."""

    text: str
    source_uri: str
    document_id: str
    start: int | None
    end: int | None
    chunk_id: str = ""
    grade: int = 0
    reason: str = ""  # the reason if it is a negative

    @property
    def place(self) -> tuple[str, int, int]:
        return (self.source_uri, -1 if self.start is None else self.start, self.end or -1)


@dataclass(slots=True)
class Example:
    """A question with the texts that answer it, best first, and hard negatives."""

    question: str
    source: str  # "golden" or "feedback"
    filters: Mapping[str, Any] = field(default_factory=dict)
    positives: list[ExamplePassage] = field(default_factory=list)
    negatives: list[ExamplePassage] = field(default_factory=list)


def golden_examples(namespace_id: uuid.UUID, golden_set: str = "") -> Iterator[Example]:
    """Return the judged queries of the namespace, or of one set, that have a relevant text."""
    queries = GoldenQuery.objects.filter(namespace=namespace_id)
    if golden_set:
        queries = queries.filter(golden_set__name=golden_set)
    queries = queries.prefetch_related("judgements__document").order_by("text", "id")
    texts: dict[uuid.UUID, str] = {}
    for query in queries.iterator(chunk_size=BATCH):
        example = Example(query.text, "golden", query.filters)
        for judgement in query.judgements.all():
            passage = _judged(judgement, texts)
            if passage and judgement.grade > 0:
                example.positives.append(passage)
            elif passage:
                example.negatives.append(passage)
        if example.positives:
            yield _ordered(example)


def _judged(judgement: Judgement, texts: dict[uuid.UUID, str]) -> ExamplePassage | None:
    """Return the passage; None if the document is missing, because judgements may name documents
    that do not exist."""
    document = judgement.document
    text = judgement.quote
    if not text and document is not None:
        if document.pk not in texts:
            texts[document.pk] = live_text(document)
        text = texts[document.pk]
    if not text:
        return None
    return ExamplePassage(
        text,
        judgement.source_uri,
        str(document.pk) if document else "",
        judgement.start,
        judgement.end,
        grade=judgement.grade,
        reason="" if judgement.grade else JUDGED,
    )


def feedback_examples(namespace_id: uuid.UUID) -> Iterator[Example]:
    """Return the questions with a selected passage and without negative feedback on the answer.

    Several pieces of feedback on one question are one example.
    """
    rows = list(
        Feedback.objects.filter(namespace=namespace_id)
        .exclude(selected_chunk_ids=[])
        .prefetch_related("selected__document")
        .order_by("query", "created_at", "id")
    )
    by_question: dict[str, list[Feedback]] = {}
    for row in rows:
        if not is_hashed(row.query):
            by_question.setdefault(row.query, []).append(row)
    questions = list(by_question.items())
    for start in range(0, len(questions), BATCH):
        batch = questions[start : start + BATCH]
        returned = _returned(row for _, responses in batch for row in responses)
        for question, responses in batch:
            example = _of_feedback(question, responses, returned)
            if example.positives:
                yield _ordered(example)


def _of_feedback(
    question: str, responses: Sequence[Feedback], returned: Mapping[uuid.UUID, list[ExamplePassage]]
) -> Example:
    example = Example(question, "feedback", responses[0].filters)
    liked: dict[tuple[str, int, int], ExamplePassage] = {}
    disliked: dict[tuple[str, int, int], ExamplePassage] = {}
    for row in responses:
        for selected in row.selected.all():
            passage = _selected(selected, GRADES[row.useful])
            chosen = liked if passage.grade else disliked
            if passage.place not in chosen or chosen[passage.place].grade < passage.grade:
                chosen[passage.place] = passage
    skipped = {
        passage.place: passage
        for row in responses
        if row.useful is not False
        for passage in _skipped(row, returned)
    }
    example.positives = list(liked.values())
    negatives = skipped | disliked
    example.negatives = [negatives[place] for place in negatives if place not in liked]
    return example


def _selected(selected: SelectedPassage, grade: int) -> ExamplePassage:
    return ExamplePassage(
        selected.quote,
        selected.document.source_uri,
        str(selected.document_id),
        selected.start,
        selected.end,
        chunk_id=str(selected.chunk_id),
        grade=grade,
        reason="" if grade else NOT_USEFUL,
    )


def _skipped(
    row: Feedback, returned: Mapping[uuid.UUID, list[ExamplePassage]]
) -> list[ExamplePassage]:
    """Return the unselected results above the last selected one, which the user has seen and
    skipped."""
    shown = returned.get(row.query_log_id, []) if row.query_log_id else []
    chosen = {str(chunk_id) for chunk_id in row.selected_chunk_ids}
    places = [number for number, passage in enumerate(shown) if passage.chunk_id in chosen]
    above = shown[: places[-1]] if places else []
    return [passage for passage in above if passage.chunk_id not in chosen and passage.text]


def _returned(rows: Iterable[Feedback]) -> dict[uuid.UUID, list[ExamplePassage]]:
    """Return what each logged question had returned, in order. Deleted chunks have no text."""
    ids = {row.query_log_id for row in rows if row.query_log_id}
    lines: dict[uuid.UUID, list[dict[str, Any]]] = {
        line.pk: line.returned or []
        for line in QueryLog.objects.filter(pk__in=ids).only("returned")
    }
    places = [place for line in lines.values() for place in line]
    contents = dict(
        Chunk.objects.filter(pk__in={place["chunk"] for place in places}).values_list(
            "pk", "content"
        )
    )
    sources = dict(
        Document.objects.filter(pk__in={place["document"] for place in places}).values_list(
            "pk", "source_uri"
        )
    )
    return {
        line_id: [
            ExamplePassage(
                contents.get(uuid.UUID(place["chunk"]), ""),
                sources.get(uuid.UUID(place["document"]), ""),
                place["document"],
                place["start"],
                place["end"],
                chunk_id=place["chunk"],
                reason=NOT_SELECTED,
            )
            for place in line
        ]
        for line_id, line in lines.items()
    }


def _ordered(example: Example) -> Example:
    example.positives.sort(key=lambda passage: (-passage.grade, passage.place))
    example.negatives.sort(key=lambda passage: passage.place)
    return example
