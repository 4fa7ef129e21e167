"""The tables: whose (namespaces), what (documents), how indexed (indexing), what work (jobs)."""

from .documents import Document, DocumentVersion
from .indexing import Chunk, EmbeddingCache, IndexProfile
from .jobs import IngestJob, WorkerHeartbeat
from .namespaces import ApiKey, Namespace

__all__ = [
    "ApiKey",
    "Chunk",
    "Document",
    "DocumentVersion",
    "EmbeddingCache",
    "IndexProfile",
    "IngestJob",
    "Namespace",
    "WorkerHeartbeat",
]
