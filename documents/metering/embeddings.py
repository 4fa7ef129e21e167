"""Tokens and cost of embeddings: recorded per namespace and month, and capped."""

import logging
import uuid
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal

from django.conf import settings
from django.db import Error as DatabaseError
from django.db import connection
from django.db.models import Sum

from documents.embedders import Embedder
from documents.embedders.base import Spend, Vectors, unmetered
from documents.errors import CostCap
from documents.models import EmbeddingUsage, IngestJob
from ragsite.database.tenancy import namespace, reading_from
from ragsite.platform import metrics

logger = logging.getLogger(__name__)

MILLION = 1_000_000

_BOOK = """
    WITH job AS (
        UPDATE documents_ingestjob SET embedding_tokens = embedding_tokens + %(tokens)s,
                                       embedding_cost = embedding_cost + %(cost)s
        WHERE id = %(job)s
    )
    INSERT INTO documents_embeddingusage AS so_far
        (namespace_id, month, model_identity, tokens, cost)
    VALUES (%(namespace)s, %(month)s, %(model)s, %(tokens)s, %(cost)s)
    ON CONFLICT (namespace_id, month, model_identity) DO UPDATE
        SET tokens = so_far.tokens + excluded.tokens, cost = so_far.cost + excluded.cost
"""


class MeteredEmbedder(Embedder):
    """An embedder that books the usage of a namespace, and of a job if it works for one.

    Raises CostCap before exceeding a cap.
    """

    def __init__(
        self, embedder: Embedder, namespace_id: uuid.UUID, job_id: uuid.UUID | None
    ) -> None:
        self._embedder = embedder
        self._namespace_id = namespace_id
        self._job_id = job_id
        self.dimensions = embedder.dimensions
        self.max_tokens = embedder.max_tokens
        self.max_windows = embedder.max_windows
        self.batch_size = embedder.batch_size

    @property
    def identity(self) -> str:
        return self._embedder.identity

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return self._embedder.count_tokens(texts)

    def embed_batch(self, texts: list[str]) -> Vectors:
        return [vector for batch in self.embed_documents(texts) for vector in batch]

    def embed_query(self, text: str) -> list[float]:
        return self._embedder.embed_query(text)

    def embed_documents(
        self, texts: Sequence[str], *, spend: Spend = unmetered
    ) -> Iterator[Vectors]:
        for vectors, tokens in self.embed_unbooked(texts):
            with namespace(self._namespace_id):
                self.book(tokens)
            self.require_room()
            spend(tokens)
            yield vectors

    def embed_unbooked(self, texts: Sequence[str]) -> Iterator[tuple[Vectors, int]]:
        """Yield each batch's vectors and tokens, for callers that book in their own transaction."""
        if texts and any(settings.EMBEDDING_CAPS.values()):  # counting tokens is slow
            self.require_room(sum(self.count_tokens(texts)))
        spent: list[int] = []
        for vectors in self._embedder.embed_documents(texts, spend=spent.append):
            metrics.EMBEDDING_CALLS.labels("documents").inc()
            metrics.EMBEDDING_TOKENS.inc(spent[-1])
            yield vectors, spent.pop()

    def book(self, tokens: int) -> None:
        """Record spent tokens, whether or not the lease is still held. Inside namespace()."""
        _book(self._embedder, self._namespace_id, self._job_id, tokens)

    def require_room(self, tokens: int = 0) -> None:
        """Raise CostCap if this many more tokens would exceed a cap."""
        caps = settings.EMBEDDING_CAPS
        if not any(caps.values()):
            return
        with namespace(self._namespace_id):
            job = IngestJob.objects.filter(pk=self._job_id).first() if self._job_id else None
            month = usage_in(self._namespace_id, this_month())
        job_usage = (job.embedding_tokens, job.embedding_cost) if job else (0, Decimal(0))
        for scope, (spent, paid) in (("job", job_usage), ("month", month)):
            if caps[f"{scope}_tokens"] and spent + tokens > caps[f"{scope}_tokens"]:
                raise CostCap(
                    f"Embedding this document would take the {scope} to {spent + tokens:,} tokens, "
                    f"and {caps[f'{scope}_tokens']:,} are allowed."
                )
            cost = paid + _cost(self._embedder, tokens)
            if caps[f"{scope}_cost"] and cost > Decimal(str(caps[f"{scope}_cost"])):
                raise CostCap(
                    f"Embedding this document would take the {scope}'s cost to {cost:.4f}, and "
                    f"{caps[f'{scope}_cost']} is allowed."
                )


def book_question(embedder: Embedder, namespace_id: uuid.UUID, text: str) -> None:
    """Book the tokens of a query, if the embedder has a price.

    A query is never refused because of a cap, and an error in booking is only logged, so that
    neither makes a search fail.
    """
    if not embedder.price:
        return
    tokens = sum(embedder.count_tokens([text]))
    try:
        with reading_from("default"), namespace(namespace_id):  # a replica is read-only
            _book(embedder, namespace_id, None, tokens)
    except DatabaseError:
        logger.warning("usage.question_not_booked", exc_info=True)


def _book(
    embedder: Embedder, namespace_id: uuid.UUID, job_id: uuid.UUID | None, tokens: int
) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            _BOOK,
            {
                "job": job_id,
                "namespace": namespace_id,
                "month": this_month(),
                "model": embedder.identity,
                "tokens": tokens,
                "cost": _cost(embedder, tokens),
            },
        )


def _cost(embedder: Embedder, tokens: int) -> Decimal:
    return Decimal(tokens) * Decimal(str(embedder.price)) / MILLION


def usage_in(namespace_id: uuid.UUID, month: date) -> tuple[int, Decimal]:
    """Return the month's tokens and cost of all models. Inside namespace()."""
    rows = EmbeddingUsage.objects.filter(namespace_id=namespace_id, month=month)
    sums = rows.aggregate(tokens=Sum("tokens"), cost=Sum("cost"))
    return sums["tokens"] or 0, sums["cost"] or Decimal(0)


def this_month() -> date:
    return datetime.now(UTC).date().replace(day=1)
