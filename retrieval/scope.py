"""Where to look: the whole namespace, a few documents by their ids, or all that pass a filter."""

import uuid
from dataclasses import dataclass, field
from typing import Any

from documents.models import Namespace
from ragsite.tenancy import current_connection

from .filters import Filters, compile_filters

# The condition is compiled: it names columns and parameters, and holds nothing a user wrote.
_DOCUMENTS = """
    WITH passing AS MATERIALIZED (
        SELECT id, chunks_count FROM documents_document document
        WHERE namespace_id = %(tenant)s AND live_version IS NOT NULL AND {condition}
        LIMIT %(few)s + 1
    ), counted AS (
        SELECT count(*) AS documents, coalesce(sum(chunks_count), 0)::int AS chunks FROM passing
    )
    SELECT documents, chunks,
           CASE WHEN documents <= %(few)s AND chunks <= %(few)s
                THEN ARRAY(SELECT id FROM passing) END
    FROM counted
"""


@dataclass(frozen=True, slots=True)
class Scope:
    """What a filter leaves of a namespace, the same for both legs."""

    chunks: int  # at most about so many are left
    kinds: tuple[str, ...] = ()
    documents: tuple[uuid.UUID, ...] | None = None  # these and no others; None: see condition
    condition: str = ""  # SQL over `document`
    parameters: dict[str, Any] = field(default_factory=dict)

    def join(self, row: str) -> str:
        """The filter as a join, for statements that do not take the documents' ids."""
        if not self.condition:
            return ""
        return (
            f"JOIN documents_document document "
            f"ON document.id = {row}.document_id AND {self.condition}"
        )


def resolve(filters: Filters, tenant: Namespace, *, few: int) -> Scope:
    """Inside namespace(). A filter that leaves at most `few` chunks is turned into its documents:
    then each leg can look at exactly those, by rule instead of by the planner's guess."""
    scope = Scope(chunks=tenant.chunk_count, kinds=tuple(filters.kinds))
    condition, parameters = compile_filters(filters)
    if condition:
        scope = _documents(condition, parameters, scope, tenant, few)
    if scope.kinds and scope.chunks > few:
        scope = _of_kinds(scope, tenant, few)
    return scope


def _documents(
    condition: str, parameters: dict[str, Any], scope: Scope, tenant: Namespace, few: int
) -> Scope:
    with current_connection().cursor() as cursor:
        # A document has at least one chunk: beyond `few` documents it cannot be few chunks.
        cursor.execute(
            _DOCUMENTS.format(condition=condition),
            {**parameters, "tenant": tenant.pk, "few": few},
        )
        documents, chunks, ids = cursor.fetchone()
    if ids is not None:
        return Scope(chunks, scope.kinds, documents=tuple(ids))
    at_most = chunks if documents <= few else tenant.chunk_count
    return Scope(at_most, scope.kinds, condition=condition, parameters=parameters)


def _of_kinds(scope: Scope, tenant: Namespace, few: int) -> Scope:
    with current_connection().cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM (SELECT FROM documents_chunk WHERE namespace_id = %s "
            "AND profile_id = %s AND kind = ANY (%s) LIMIT %s + 1) counted",
            [tenant.pk, tenant.active_profile_id, list(scope.kinds), few],
        )
        (chunks,) = cursor.fetchone()
    if chunks > few:
        return scope
    return Scope(chunks, scope.kinds, scope.documents, scope.condition, scope.parameters)
