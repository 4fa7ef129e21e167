"""Feedback as votes for the learned boost (retrieval/learned/boosting.py), and the vectors of its
questions."""

import logging
import uuid
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

from django.db import connection

from documents.errors import IngestError
from documents.ingestion.embedding import as_text
from documents.models import Namespace
from documents.text.lexemes import parse_query
from evaluation.models import Feedback, FeedbackVector
from ragsite.database.tenancy import current_connection, namespace, query_in_namespace
from ragsite.web.threads import release_connections
from retrieval.candidates.query_embedding import embed_question
from retrieval.learned.boosting import MIN_SIMILARITY, Vote
from retrieval.query_log import HASH_PREFIX
from retrieval.search import prepare
from retrieval.search_context import SearchedIndex

logger = logging.getLogger(__name__)

VALUES = {True: 1.0, None: 0.5, False: -1.0}  # weight by `useful`; None: selected without a verdict
NEWEST = 5000  # maximum number of votes that are compared; older ones have faded
MAX_VOTES = 300
BATCH = 200

_SIMILAR = """
    WITH newest AS (
        SELECT id, query, useful, created_at FROM evaluation_feedback
        WHERE namespace_id = %(namespace)s AND selected_chunk_ids <> '{}'
          AND id <> ALL (%(without)s::uuid[])
        ORDER BY created_at DESC, id DESC LIMIT %(newest)s
    ), compared AS (
        SELECT newest.id, newest.useful, newest.created_at,
               CASE WHEN lower(regexp_replace(btrim(newest.query), '\\s+', ' ', 'g'))
                         = lower(%(question)s) THEN 1.0
                    ELSE 1 - (vector.embedding <=> %(vector)s::halfvec) END AS similarity
        FROM newest LEFT JOIN evaluation_feedbackvector vector
          ON vector.namespace_id = %(namespace)s AND vector.feedback_id = newest.id
         AND vector.profile_id = %(profile)s
    )
    SELECT compared.id, compared.similarity,
           extract(epoch FROM now() - compared.created_at) / 86400, compared.useful,
           selected.document_id, selected.chunk_id, selected.quote
    FROM compared JOIN evaluation_selectedpassage selected
      ON selected.namespace_id = %(namespace)s AND selected.feedback_id = compared.id
    WHERE compared.similarity >= %(least)s
    ORDER BY compared.similarity DESC, compared.created_at DESC, selected.id
    LIMIT %(most)s
"""
_STATE = """
    SELECT count(*), max(created_at),
           (SELECT max(id) FROM evaluation_feedbackvector WHERE namespace_id = %(namespace)s)
    FROM evaluation_feedback WHERE namespace_id = %(namespace)s
"""

_without: ContextVar[tuple[uuid.UUID, ...]] = ContextVar("without", default=())


@contextmanager
def without(feedback_ids: Collection[uuid.UUID]) -> Iterator[None]:
    """Hide these pieces of feedback from searches in the block, for measurements."""
    token = _without.set(tuple(feedback_ids))
    try:
        yield
    finally:
        _without.reset(token)


class FeedbackVotes:
    """The feedback of a namespace, as a VoteSource."""

    def similar(
        self,
        namespace_id: uuid.UUID,
        profile_id: uuid.UUID,
        question: str,
        vector: Sequence[float] | None,
    ) -> list[Vote]:
        with current_connection().cursor() as cursor:
            cursor.execute(
                _SIMILAR,
                {
                    "namespace": namespace_id,
                    "profile": profile_id,
                    "question": prepare(question),
                    "vector": None if vector is None else as_text(vector),
                    "without": list(_without.get()),
                    "newest": NEWEST,
                    "least": MIN_SIMILARITY,
                    "most": MAX_VOTES,
                },
            )
            rows = cursor.fetchall()
        return [
            Vote(
                feedback_id=feedback_id,
                similarity=float(similarity),
                age_days=max(float(days), 0.0),
                value=VALUES[useful],
                document_id=document_id,
                chunk_id=chunk_id,
                quote=quote,
            )
            for feedback_id, similarity, days, useful, document_id, chunk_id, quote in rows
        ]

    def state(self, namespace_id: uuid.UUID) -> str:
        ((count, newest, vectors),) = query_in_namespace(
            namespace_id, _STATE, {"namespace": namespace_id}
        )
        return f"{count} {newest} {vectors}"


def embed_questions(
    namespace_id: uuid.UUID, *, feedback_ids: Collection[uuid.UUID] | None = None
) -> int:
    """Embed the questions of feedback under the namespace's active profile; return how many.

    Until then the feedback only counts for the same question. Housekeeping retries after a failure
    of the model. Call it outside of transactions.
    """
    with namespace(namespace_id):
        tenant = Namespace.objects.select_related("active_profile").filter(pk=namespace_id).first()
        if tenant is None:
            return 0
        index = SearchedIndex.of(tenant)
        FeedbackVector.objects.exclude(profile=index.profile).delete()
    done = 0
    while rows := _missing(index, feedback_ids):
        release_connections()  # a provider may be slow
        try:
            vectors = {pk: embed_question(index, _asked(query)) for pk, query in rows}
        except IngestError as error:
            logger.warning("feedback.not_embedded", extra={"code": error.code})
            break
        _store(index, vectors)
        done += len(rows)
    return done


def embed_everywhere() -> None:
    """Embed what was not embedded when it was stored, or has vectors of another profile. Called by
    housekeeping."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT namespace_id FROM ragsite.namespace_ids()")
        tenants = [row[0] for row in cursor.fetchall()]
    for namespace_id in tenants:
        embed_questions(namespace_id)


def _asked(query: str) -> str:
    """Return the text that a search for this question embeds."""
    return parse_query(prepare(query)).text


def _missing(
    index: SearchedIndex, feedback_ids: Collection[uuid.UUID] | None
) -> list[tuple[uuid.UUID, str]]:
    with namespace(index.namespace_id):
        known = FeedbackVector.objects.filter(profile=index.profile).values("feedback")
        rows = Feedback.objects.exclude(selected_chunk_ids=[]).exclude(pk__in=known)
        if feedback_ids is not None:
            rows = rows.filter(pk__in=feedback_ids)
        rows = rows.exclude(query__startswith=HASH_PREFIX).order_by("-created_at", "-id")
        return list(rows.values_list("pk", "query")[:BATCH])


def _store(index: SearchedIndex, vectors: dict[uuid.UUID, list[float]]) -> None:
    with namespace(index.namespace_id):
        there = Feedback.objects.filter(pk__in=vectors).values_list("pk", flat=True)
        FeedbackVector.objects.bulk_create(
            (
                FeedbackVector(
                    namespace_id=index.namespace_id,
                    feedback_id=pk,
                    profile=index.profile,
                    embedding=vectors[pk],
                )
                for pk in there
            ),
            ignore_conflicts=True,
        )
