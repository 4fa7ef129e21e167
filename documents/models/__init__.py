"""The tables: whose (namespaces), what (documents), what they say (facts), how indexed (indexing,
terms, reindexing), what work (jobs), what it costs (usage), who did what (audit)."""

from .audit import AuditEvent
from .documents import Document, DocumentVersion
from .facts import Fact
from .indexing import Chunk, EmbeddingCache, IndexProfile
from .jobs import IngestJob, WorkerHeartbeat
from .namespaces import ApiKey, Namespace
from .reindexing import Reindex
from .terms import ChunkTerms, TermFrequency, TermStatistics
from .usage import EmbeddingUsage, ProviderPace

__all__ = [
    "ApiKey",
    "AuditEvent",
    "Chunk",
    "ChunkTerms",
    "Document",
    "DocumentVersion",
    "EmbeddingCache",
    "EmbeddingUsage",
    "Fact",
    "IndexProfile",
    "IngestJob",
    "Namespace",
    "ProviderPace",
    "Reindex",
    "TermFrequency",
    "TermStatistics",
    "WorkerHeartbeat",
]
