"""The context of one search: the question, the request, and the index."""

import uuid
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Self

from documents.models import Conversation, IndexProfile, Namespace
from documents.passages import CONVERSATION
from documents.text.lexemes import ParsedQuery
from ragsite.database.tenancy import namespace, query_in_namespace

from .filters import Filters
from .requests import SearchRequest
from .reranking import ChosenReranker
from .timing import Clock

# Increased by every change of what a search finds or shows.
REVISION = "SELECT revision FROM documents_namespace WHERE id = %(namespace)s"

# A row's position and the transaction that wrote it: they change whenever the row does.
_INDEX = """
    SELECT namespace.revision, namespace.chunk_count, namespace.language, profile.id,
           profile.ctid::text || profile.xmin::text,
           EXISTS (SELECT FROM documents_conversation conversation
                   WHERE conversation.namespace_id = namespace.id),
           (SELECT reltuples FROM pg_class WHERE oid = 'documents_chunk'::regclass)
    FROM documents_namespace namespace
    JOIN documents_indexprofile profile ON profile.id = namespace.active_profile_id
    WHERE namespace.id = %(namespace)s
"""


@dataclass(frozen=True, slots=True)
class SearchedIndex:
    """The chunks of one namespace under one profile, as of the start of the search."""

    namespace_id: uuid.UUID
    revision: int
    chunk_count: int
    language: str
    profile: IndexProfile
    has_conversations: bool = False
    table_rows: int = 0  # chunks of all namespaces, as far as PostgreSQL knows; 0: not asked

    @classmethod
    def of(cls, tenant: Namespace) -> Self:
        """Return the index that searches of this namespace use now."""
        return cls(
            tenant.pk,
            tenant.revision,
            tenant.chunk_count,
            tenant.language,
            tenant.active_profile,
            Conversation.objects.filter(namespace=tenant).exists(),
        )


@dataclass(frozen=True, slots=True)
class SearchContext:
    index: SearchedIndex
    query: ParsedQuery
    request: SearchRequest
    reranker: ChosenReranker
    clock: Clock

    @property
    def namespace_id(self) -> uuid.UUID:
        return self.index.namespace_id

    @property
    def leaves_out_conversations(self) -> bool:
        return self.index.has_conversations and not self.request.filters.asks_for_conversations

    @property
    def filters(self) -> Filters:
        """Return the request's filters, without conversations unless it asks for them."""
        filters = self.request.filters
        if self.leaves_out_conversations:
            return replace(filters, source_types_none=(CONVERSATION,))
        return filters

    @property
    def has_words(self) -> bool:
        return any(character.isalnum() for character in self.query.text)


def read_index(namespace_id: uuid.UUID) -> SearchedIndex:
    """Read the index's state. Hand-written SQL, because Django takes longer to build this statement
    than PostgreSQL to run it."""
    found = query_in_namespace(namespace_id, _INDEX, {"namespace": namespace_id})
    revision, chunk_count, language, profile_id, written, has_conversations, rows = found[0]
    profile = _profile(namespace_id, profile_id, written)
    return SearchedIndex(
        namespace_id, revision, chunk_count, language, profile, has_conversations, int(rows)
    )


@lru_cache(maxsize=4096)  # one per namespace
def _profile(namespace_id: uuid.UUID, profile_id: uuid.UUID, written: str) -> IndexProfile:
    with namespace(namespace_id):
        return IndexProfile.objects.get(pk=profile_id)
