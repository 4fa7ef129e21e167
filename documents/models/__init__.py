"""The tables, by module: tenants (namespaces), content (documents, collections, conversations),
facts and the statements they follow from (facts, memory), indexes (indexing, terms, reindexing),
work (jobs), cost (usage), the audit log (audit), deletions (removals), webhooks (webhooks), and
rows of the whole installation (operators)."""

from .audit import AuditEvent
from .collections import Collection, CollectionBatch, CollectionDocument
from .conversations import CONVERSATION_MEDIA_TYPE, Conversation, Turn
from .documents import Document, DocumentVersion
from .facts import Fact, FactState, FactVector
from .indexing import Chunk, EmbeddingCache, IndexProfile, StoreChange
from .jobs import IdempotentRequest, IngestJob, WorkerHeartbeat
from .memory import FactAlias, FactErasure, FactStatement, PredicateRule
from .namespaces import ApiKey, Namespace, NamespaceLink, NamespaceUsage
from .operators import (
    DatabaseIdentity,
    LoginThrottle,
    NamespaceAccess,
    NamespaceRemoval,
    OperatorKey,
)
from .reindexing import Reindex
from .removals import DocumentRemoval, PutOffRemoval
from .terms import ChunkTerms, TermFrequency, TermStatistics
from .usage import EmbeddingUsage, LanguageModelUsage, ProviderPace
from .webhooks import WebhookDelivery, WebhookEndpoint, WebhookEvent

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
    "WebhookDelivery",
    "WebhookEndpoint",
    "WebhookEvent",
    "WorkerHeartbeat",
]
