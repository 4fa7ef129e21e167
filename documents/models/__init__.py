"""The tables: whose (namespaces), what (documents), how indexed (indexing, terms),
what work (jobs)."""

from .documents import Document, DocumentVersion
from .indexing import Chunk, EmbeddingCache, IndexProfile
from .jobs import IngestJob, WorkerHeartbeat
from .namespaces import ApiKey, Namespace
from .terms import ChunkTerms, TermFrequency, TermStatistics

__all__ = [
    "ApiKey",
    "Chunk",
    "ChunkTerms",
    "Document",
    "DocumentVersion",
    "EmbeddingCache",
    "IndexProfile",
    "IngestJob",
    "Namespace",
    "TermFrequency",
    "TermStatistics",
    "WorkerHeartbeat",
]
