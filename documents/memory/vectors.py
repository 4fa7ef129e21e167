"""Vectors of facts, under each profile that a namespace's searches use or will use.

Facts are stored without waiting for a model. A fact without a vector is found by its words; it gets
a vector after the transaction, during a reindex, or by housekeeping.
"""

import json
import logging
import uuid
from collections.abc import Sequence

from django.db import connection

from documents.errors import IngestError
from documents.ingestion.embedding import as_text
from documents.jobs import queue
from documents.metering.embeddings import MeteredEmbedder
from documents.models import FactVector, IndexProfile, Namespace, Reindex
from documents.profiles import profiles
from ragsite.database.tenancy import namespace
from ragsite.web.threads import release_connections

from .rules.rendering import plain

logger = logging.getLogger(__name__)

BATCH = 200

# Facts from rows of tables have no vectors here, because their chunks have vectors.
_MISSING = """
    SELECT fact.id, fact.subject, fact.predicate, fact.object::text
    FROM documents_fact fact
    WHERE fact.namespace_id = %(namespace)s AND fact.source <> 'row' AND fact.status = 'approved'
      AND fact.retracted_at IS NULL {some}
      AND NOT EXISTS (SELECT FROM documents_factvector vector
                      WHERE vector.namespace_id = %(namespace)s AND vector.fact_id = fact.id
                        AND vector.profile_id = %(profile)s)
    ORDER BY fact.id LIMIT %(limit)s
"""
# Inserts nothing for a fact that was erased in the meantime; the lock waits for an erasure.
_STORE = """
    INSERT INTO documents_factvector (namespace_id, profile_id, fact_id, embedding)
    SELECT %(namespace)s, %(profile)s, fact.id, given.vector::halfvec
    FROM unnest(%(ids)s::uuid[], %(vectors)s::text[]) AS given (id, vector)
    JOIN documents_fact fact ON fact.id = given.id
    FOR KEY SHARE OF fact
    ON CONFLICT DO NOTHING
"""


def embed_facts(namespace_id: uuid.UUID, fact_ids: Sequence[uuid.UUID]) -> None:
    """Embed new facts. A failing model does not fail the statement. Call it outside of
    transactions."""
    if not fact_ids:
        return
    with namespace(namespace_id):
        tenant = Namespace.objects.select_related("active_profile").get(pk=namespace_id)
        has_reindex = Reindex.objects.filter(namespace=namespace_id, state__in=Reindex.OPEN).update(
            has_work=True
        )
    try:
        fill(namespace_id, tenant.active_profile, fact_ids=fact_ids)
    except IngestError as error:
        logger.warning("memory.not_embedded", extra={"code": error.code})
    if has_reindex:
        queue.wake_workers()


def fill(
    namespace_id: uuid.UUID,
    profile: IndexProfile,
    *,
    fact_ids: Sequence[uuid.UUID] | None = None,
) -> int:
    """Embed the facts that have no vector under a profile; return how many. Raises IngestError."""
    done = 0
    while batch := missing(namespace_id, profile, fact_ids=fact_ids):
        release_connections()  # a provider may be slow
        embedder = MeteredEmbedder(profiles.embedder_of(profile), namespace_id, None)
        texts = list(batch.values())
        found = [vector for some in embedder.embed_documents(texts) for vector in some]
        with namespace(namespace_id), connection.cursor() as cursor:
            cursor.execute(
                _STORE,
                {
                    "namespace": namespace_id,
                    "profile": profile.pk,
                    "ids": list(batch),
                    "vectors": [as_text(vector) for vector in found],
                },
            )
        done += len(batch)
    return done


def missing(
    namespace_id: uuid.UUID,
    profile: IndexProfile,
    *,
    fact_ids: Sequence[uuid.UUID] | None = None,
    at_most: int = BATCH,
) -> dict[uuid.UUID, str]:
    """Return the texts of facts without a vector under a profile, by id."""
    some = "" if fact_ids is None else "AND fact.id = ANY (%(ids)s::uuid[])"
    with namespace(namespace_id), connection.cursor() as cursor:
        cursor.execute(
            _MISSING.format(some=some),
            {
                "namespace": namespace_id,
                "profile": profile.pk,
                "ids": list(fact_ids or ()),
                "limit": at_most,
            },
        )
        rows = cursor.fetchall()
    return {row[0]: plain(row[1], row[2], json.loads(row[3])) for row in rows}


def remove(namespace_id: uuid.UUID, profile_id: uuid.UUID) -> int:
    """Delete a namespace's vectors of facts under a profile. Inside namespace()."""
    removed, _ = FactVector.objects.filter(namespace=namespace_id, profile=profile_id).delete()
    return removed
