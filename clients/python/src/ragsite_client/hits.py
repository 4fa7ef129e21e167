"""What frameworks keep beside a passage's text."""

from typing import Any

from .models import Hit


def metadata_of(hit: Hit) -> dict[str, Any]:
    """Plain values: the text from `start` to `end` of the document's version is the passage."""
    own: dict[str, Any] = hit.metadata if isinstance(hit.metadata, dict) else {}
    url = hit.source_uri if hit.source_uri.startswith(("http://", "https://")) else None
    return {
        **own,
        "source": hit.source_uri,
        "title": hit.title,
        "section": hit.section,
        "page": hit.page,
        "start": hit.span.start,
        "end": hit.span.end,
        "score": hit.scores.final,
        "relevance": hit.relevance,
        "url": url,
        "document_id": hit.document_id,
        "document_version": hit.document_version,
        "chunk_id": hit.chunk_id,
        "tags": hit.tags,
        "collection": hit.collection,
        "collections": hit.collections,
    }
