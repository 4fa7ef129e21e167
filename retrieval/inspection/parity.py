"""Compare two profiles: whether they find the same passages, and how their scores differ."""

import random
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from django.conf import settings
from django.utils.module_loading import import_string

from documents.models import Chunk, Document, IndexProfile, Namespace, Reindex
from documents.reindex import switching
from ragsite.database.tenancy import namespace
from ragsite.platform.wording import plural
from retrieval.models import QueryLog
from retrieval.query_log import is_hashed
from retrieval.requests import Hit, SearchRequest
from retrieval.search import search_under

QUESTIONS = 50
MIN_QUESTIONS = 10  # minimum number of questions from the log; fewer are not representative
TOP = 10
MIN_WORDS, MAX_WORDS = 6, 12


@dataclass(frozen=True, slots=True)
class Compared:
    """One question under both profiles."""

    question: str
    overlap: float  # of the first ten hits
    documents: float  # of their documents
    shift: float  # of the best hit's similarity


def compare(reindex: Reindex) -> dict[str, Any]:
    """Store and return the first report of PARITY_REPORTS that has questions. Raises Behind while
    the new profile is incomplete, because its figures would be meaningless."""
    _require_built(reindex)
    reports = (import_string(source)(reindex) for source in settings.PARITY_REPORTS)
    report = next(filter(None, reports), None) or {**report_on(reindex, []), "by": "nothing"}
    with namespace(reindex.namespace_id):
        Reindex.objects.filter(pk=reindex.pk).update(parity=report)
    return report


def _require_built(reindex: Reindex) -> None:
    with namespace(reindex.namespace_id):
        now = Reindex.objects.select_related("profile").get(pk=reindex.pk)
        if now.state != Reindex.State.BUILDING:
            return
        progress = switching.progress(now)
    raise switching.Behind(
        f"The index under {now.profile.name!r} is still being built ({progress.done:,} of "
        f"{plural(progress.documents, 'document')}): compare when it is complete."
    )


def on_logged_questions(reindex: Reindex) -> dict[str, Any] | None:
    """Compare by recent questions; None if there are too few."""
    with namespace(reindex.namespace_id):
        latest = QueryLog.objects.values_list("query", flat=True).order_by("-created_at")
        readable = (query for query in latest[: 4 * QUESTIONS] if not is_hashed(query))
        questions = list(dict.fromkeys(readable))[:QUESTIONS]
    if len(questions) < MIN_QUESTIONS:
        return None
    return {**report_on(reindex, questions), "by": "query log"}


def on_sampled_passages(reindex: Reindex) -> dict[str, Any] | None:
    """Compare by words from the namespace's own texts, if there is no query log."""
    sampled = sampled_questions(reindex.namespace_id, QUESTIONS)
    return {**report_on(reindex, sampled), "by": "sampled passages"} if sampled else None


def report_on(reindex: Reindex, questions: Sequence[str]) -> dict[str, Any]:
    pairs = [
        compare_one(reindex.namespace_id, reindex.replaces, reindex.profile, question)
        for question in questions
    ]
    return {
        "questions": len(pairs),
        "overlap_at_10": _mean([pair.overlap for pair in pairs]),
        "documents_overlap_at_10": _mean([pair.documents for pair in pairs]),
        "score_shift": _mean([pair.shift for pair in pairs]),
        "least_alike": [
            {"question": pair.question, "overlap": round(pair.overlap, 3)}
            for pair in sorted(pairs, key=lambda pair: pair.overlap)[:5]
        ],
    }


def compare_one(
    namespace_id: uuid.UUID, old: IndexProfile, new: IndexProfile, question: str
) -> Compared:
    request = SearchRequest(query=question, k=TOP, rerank="none")
    before = search_under(namespace_id, old, request).hits[:TOP]
    after = search_under(namespace_id, new, request).hits[:TOP]
    hit_count = max(len(before), len(after)) or 1
    documents = [{hit.candidate.document_id for hit in hits} for hits in (before, after)]
    best = [_best(hits) for hits in (before, after)]
    return Compared(
        question,
        overlap=sum(any(_same_place(hit, one) for one in before) for hit in after) / hit_count,
        documents=len(documents[0] & documents[1]) / (max(map(len, documents)) or 1),
        shift=best[1] - best[0],
    )


def sampled_questions(namespace_id: uuid.UUID, number: int) -> list[str]:
    """Return consecutive words from passages of the live profile; the same ones each time."""
    chance = random.Random(str(namespace_id))  # noqa: S311
    with namespace(namespace_id):
        profile_id = Namespace.objects.values_list("active_profile_id", flat=True).get()
        ids = list(
            Document.objects.exclude(live_version=None).order_by("pk").values_list("pk", flat=True)
        )
        chosen = chance.sample(ids, min(number, len(ids)))
        chunks = Chunk.objects.filter(document_id__in=chosen, profile_id=profile_id)
        texts = chunks.order_by("document_id", "-tokens").distinct("document_id")
        contents = list(texts.values_list("content", flat=True))
    questions = []
    for content in contents:
        words = content.split()
        length = min(len(words), chance.randint(MIN_WORDS, MAX_WORDS))
        start = chance.randint(0, len(words) - length)
        questions.append(" ".join(words[start : start + length]))
    return [question for question in questions if any(map(str.isalnum, question))]


def _same_place(one: Hit, other: Hit) -> bool:
    """Whether both quote overlapping text: chunks of two profiles never have the same id."""
    return (
        one.candidate.document_id == other.candidate.document_id
        and one.document_version == other.document_version
        and one.start < other.end
        and other.start < one.end
    )


def _best(hits: Sequence[Hit]) -> float:
    return max((hit.candidate.similarity or 0.0 for hit in hits), default=0.0)


def _mean(values: Sequence[float]) -> float | None:
    return round(fmean(values), 4) if values else None
