"""The tables: whose (namespaces), what (documents, collections), what holds (facts) and what that
follows from (memory), how indexed (indexing, terms, reindexing), what work (jobs), what it costs
(usage), who did what (audit), which logins are locked (logins), who may ask without one (links),
what is being deleted (removals), what belongs to the whole installation (operators)."""

from .audit import AuditEvent
from .collections import Collection, CollectionBatch, CollectionDocument
from .conversations import CONVERSATION_MEDIA_TYPE, Conversation, Turn
from .documents import Document, DocumentVersion
from .facts import Fact, FactState, FactVector
from .indexing import Chunk, EmbeddingCache, IndexProfile, StoreChange
from .jobs import IdempotentRequest, IngestJob, WorkerHeartbeat
from .links import NamespaceLink
from .logins import LoginThrottle
from .memory import FactAlias, FactErasure, FactStatement, PredicateRule
from .namespaces import ApiKey, Namespace, NamespaceUsage
from .operators import DatabaseIdentity, NamespaceAccess, NamespaceRemoval, OperatorKey
from .reindexing import Reindex
from .removals import DocumentRemoval, PutOffRemoval
from .terms import ChunkTerms, TermFrequency, TermStatistics
from .usage import EmbeddingUsage, LanguageModelUsage, ProviderPace

__all__ = [
    "CONVERSATION_MEDIA_TYPE",
    "ApiKey",
    "AuditEvent",
    "Chunk",
    "ChunkTerms",
    "Collection",
    "CollectionBatch",
    "CollectionDocument",
    "Conversation",
    "DatabaseIdentity",
    "Document",
    "DocumentRemoval",
    "DocumentVersion",
    "EmbeddingCache",
    "EmbeddingUsage",
    "Fact",
    "FactAlias",
    "FactErasure",
    "FactState",
    "FactStatement",
    "FactVector",
    "IdempotentRequest",
    "IndexProfile",
    "IngestJob",
    "LanguageModelUsage",
    "LoginThrottle",
    "Namespace",
    "NamespaceAccess",
    "NamespaceLink",
    "NamespaceRemoval",
    "NamespaceUsage",
    "OperatorKey",
    "PredicateRule",
    "ProviderPace",
    "PutOffRemoval",
    "Reindex",
    "StoreChange",
    "TermFrequency",
    "TermStatistics",
    "Turn",
    "WorkerHeartbeat",
]
