"""The tables: whose (namespaces), what (documents), what they say (facts), how indexed (indexing,
terms, reindexing), what work (jobs)."""

from .documents import Document, DocumentVersion
from .facts import Fact
from .indexing import Chunk, EmbeddingCache, IndexProfile
from .jobs import IngestJob, WorkerHeartbeat
from .namespaces import ApiKey, Namespace
from .reindexing import Reindex
from .terms import ChunkTerms, TermFrequency, TermStatistics

__all__ = [
    "ApiKey",
    "Chunk",
    "ChunkTerms",
    "Document",
    "DocumentVersion",
    "EmbeddingCache",
    "Fact",
    "IndexProfile",
    "IngestJob",
    "Namespace",
    "Reindex",
    "TermFrequency",
    "TermStatistics",
    "WorkerHeartbeat",
]
