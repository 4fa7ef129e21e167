"""Rules about facts: they follow from their statements, and have vectors."""

from collections.abc import Iterator
from dataclasses import dataclass

from documents.memory import checking

from . import mending
from .checks import AuditScope, Mend, QueryCheck


@dataclass(frozen=True, slots=True)
class FactsFollow:
    """Facts equal what documents/memory/rules derives from their statements."""

    name: str = "facts"
    what: str = "subjects have facts that do not follow from their statements"
    mend: Mend | None = mending.WORK_OUT_FACTS

    def broken(self, audited: AuditScope) -> Iterator[str]:
        yield from map(str, checking.disagreeing(audited.tenant))

    def still_broken(self, audited: AuditScope, ids: list[str]) -> set[str]:
        return set(map(str, checking.still_disagreeing(audited.tenant, ids)))


FACTS = (
    FactsFollow(),
    # A fact that was stated while the model did not respond gets its vector within an hour.
    QueryCheck(
        "vectors",
        "facts have been without a vector for hours",
        """
        SELECT fact.id FROM documents_fact fact
        WHERE fact.namespace_id = %(namespace)s AND fact.source <> 'row'
          AND fact.status = 'approved' AND fact.retracted_at IS NULL
          AND fact.believed_since < now() - interval '2 hours'
          AND NOT EXISTS (SELECT FROM documents_factvector vector
                          WHERE vector.namespace_id = %(namespace)s AND vector.fact_id = fact.id
                            AND vector.profile_id = %(profile)s)
        """,
        mending.EMBED_FACTS,
    ),
    QueryCheck(
        "vectors",
        "facts have a vector that is zero, not a number or of another length than the profile's",
        """
        SELECT vector.id FROM documents_factvector vector
        JOIN documents_indexprofile profile ON profile.id = vector.profile_id
        WHERE vector.namespace_id = %(namespace)s
          AND (vector_dims(vector.embedding) <> profile.dimensions
               OR l2_norm(vector.embedding) IN (0, 'NaN', 'Infinity'))
        """,
        mending.EMBED_FACTS_AGAIN,
    ),
)
