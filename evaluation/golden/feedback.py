"""Store users' feedback on answers, and turn it into golden queries with judgements."""

import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from django.db import IntegrityError
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.db.models.functions import Now

from documents.metadata import storable
from documents.models import Chunk
from evaluation.errors import BadGoldenSet, UnknownChunks, UnknownQuery
from evaluation.measures.matching import Judged, RankedPassage, meets
from evaluation.models import Feedback, GoldenQuery, GoldenSet, SelectedPassage
from ragsite.database.tenancy import namespace
from ragsite.platform.logs import current_request_id
from retrieval import query_log
from retrieval.models import QueryLog

from .curating import add_query, judge, placed

TAG = "from-feedback"
USEFUL = {"yes": True, "no": False, "unsaid": None}  # the name in commands and the admin
# Grades of selected passages. A click means that it looked right; 3 is left to human judges.
GRADES = {True: 2, None: 1, False: 0}
TIME_TO_CHOOSE = timedelta(minutes=10)
NEARBY = timedelta(days=1)


def record_feedback(
    namespace_id: uuid.UUID,
    *,
    query_id: uuid.UUID | None = None,
    query: str = "",
    filters: Mapping[str, Any] | None = None,
    selected_chunk_ids: Sequence[uuid.UUID] = (),
    useful: bool | None = None,
    comment: str = "",
) -> Feedback:
    """Store feedback on a logged question (`query_id`) or on a question by its text (`query`)."""
    line = query_log.find(namespace_id, query_id) if query_id else None
    if query_id and line is None:
        raise UnknownQuery(
            "There is no question with this id in the query log; it may have been deleted."
        )
    chunk_ids = list(dict.fromkeys(selected_chunk_ids))
    try:
        return _create(namespace_id, line, query, filters, chunk_ids, useful, comment)
    except IntegrityError:  # a document was deleted at the same time
        raise _unknown(chunk_ids) from None


def _create(
    namespace_id: uuid.UUID,
    line: QueryLog | None,
    query: str,
    filters: Mapping[str, Any] | None,
    chunk_ids: Sequence[uuid.UUID],
    useful: bool | None,
    comment: str,
) -> Feedback:
    with namespace(namespace_id):
        chunks = _chunks(chunk_ids)
        feedback = Feedback.objects.create(
            namespace_id=namespace_id,
            query_log=line,
            query=line.query if line else query,
            filters=line.filters if line else storable(filters or {}),
            selected_chunk_ids=list(chunk_ids),
            useful=useful,
            comment=comment,
            request_id=current_request_id(),
        )
        SelectedPassage.objects.bulk_create(
            SelectedPassage(
                namespace_id=namespace_id,
                feedback=feedback,
                chunk_id=chunk.pk,
                document_id=chunk.document_id,
                start=chunk.start,
                end=chunk.end,
                quote=chunk.content,
            )
            for chunk in chunks
        )
    return feedback


def _chunks(chunk_ids: Sequence[uuid.UUID]) -> list[Chunk]:
    """Return the chunks, in any order. Raises UnknownChunks, which names the missing ones."""
    found = Chunk.objects.only("document_id", "start", "end", "content").in_bulk(chunk_ids)
    if missing := [chunk_id for chunk_id in chunk_ids if chunk_id not in found]:
        raise _unknown(missing)
    return list(found.values())


def _unknown(chunk_ids: Sequence[uuid.UUID]) -> UnknownChunks:
    names = [str(chunk_id) for chunk_id in chunk_ids]
    error = UnknownChunks(
        f"There are no such chunks here, or their document has changed: {', '.join(names)}."
    )
    error.details = {"chunk_ids": names}
    return error


@dataclass
class Curated:
    """The outcome of `curate`."""

    queries: int = 0
    judgements: int = 0
    judged_already: int = 0  # passages
    gone: int = 0  # passages that are no longer in their documents
    foreign: int = 0  # feedback of other namespaces
    refused: list[str] = field(default_factory=list)


def curate(golden_set: GoldenSet, feedback: Iterable[Feedback]) -> Curated:
    """Add each question to the set, and each selected passage as a judgement, or as a hard negative
    if the answer was not useful. Existing judgements stay as they are.

    Inside namespace() or operator().
    """
    curated = Curated()
    questions: dict[str, list[Feedback]] = {}
    for each in sorted(feedback, key=lambda each: each.created_at):
        if each.namespace_id == golden_set.namespace_id:
            questions.setdefault(each.query, []).append(each)
        else:
            curated.foreign += 1
    for question, responses in questions.items():
        comments = dict.fromkeys(each.comment for each in responses if each.comment)
        try:
            query = add_query(
                golden_set,
                question,
                filters=responses[0].filters,
                tags=[TAG],
                notes="\n".join(comments),
            )
        except BadGoldenSet as error:
            curated.refused.append(f"{question[:80]}: {error}")
            continue
        curated.queries += 1
        _judge_selected(query, responses, curated)
    return curated


def _judge_selected(query: GoldenQuery, responses: Sequence[Feedback], curated: Curated) -> None:
    """Judge the selected passages; if people disagree, the best grade counts."""
    judged = [
        Judged(str(j.pk), j.source_uri, j.grade, j.start, j.end) for j in query.judgements.all()
    ]
    for each in sorted(responses, key=lambda each: -GRADES[each.useful]):
        grade = GRADES[each.useful]
        for chosen in each.selected.select_related("document"):
            document = chosen.document
            try:
                start, end, _ = placed(
                    document, span=(chosen.start, chosen.end), quote=chosen.quote
                )
            except BadGoldenSet:
                curated.gone += 1
                continue
            passage = RankedPassage(document.source_uri, start, end)
            if any(meets(passage, known) for known in judged):
                curated.judged_already += 1
                continue
            made = judge(
                query, document, grade=grade, span=(start, end), is_hard_negative=grade == 0
            )
            judged.append(Judged(str(made.pk), document.source_uri, grade, start, end))
            curated.judgements += 1


def disliked(lines: QuerySet[QueryLog]) -> QuerySet[QueryLog]:
    """Return questions with negative feedback."""
    return lines.filter(Exists(Feedback.objects.filter(query_log=OuterRef("pk"), useful=False)))


def without_selection(lines: QuerySet[QueryLog]) -> QuerySet[QueryLog]:
    """Return questions with hits of which none was selected or found useful. Empty if the
    namespace's clients never send selections, because then their absence means nothing."""
    selecting = Feedback.objects.exclude(selected_chunk_ids=[])
    sent_then = selecting.filter(
        namespace=OuterRef("namespace"),
        query_log__isnull=False,
        created_at__gte=OuterRef("created_at") - NEARBY,
        created_at__lte=OuterRef("created_at") + NEARBY,
    )
    content = Feedback.objects.filter(~Q(selected_chunk_ids=[]) | Q(useful=True))
    return lines.filter(
        Exists(sent_then),
        ~Exists(content.filter(query_log=OuterRef("pk"))),
        hits__gt=0,
        created_at__lt=Now() - TIME_TO_CHOOSE,
    )


def words_in_feedback() -> tuple[QuerySet[Feedback], Sequence[str]]:
    """What erasures look through: feedback, and the fields with people's words. Inside
    namespace()."""
    return Feedback.objects.all(), ("query", "comment")
