"""Read the stored rows of the best candidates."""

import uuid
from collections.abc import Sequence

from ragsite.database.tenancy import id_array, query_prepared
from retrieval.stored_chunk import StoredChunk

_ROWS = """
    SELECT chunk.id, chunk.version_id, version.number,
           document.title, document.source_uri, document.metadata::text, document.tags,
           document.language, chunk.metadata::text, chunk.section, chunk.page_start, chunk.kind,
           chunk.start, chunk."end", chunk.ordinal, terms.words_hash, chunk.tokens, chunk.content,
           version.media_type, document.created_at, document.dated_at, chunk.page_end,
           ARRAY(SELECT coalesce(collection.name, collection.id::text)
                 FROM documents_collectiondocument member
                 JOIN documents_collection collection ON collection.id = member.collection_id
                 WHERE member.document_id = document.id ORDER BY 1)
    FROM documents_chunk chunk
    JOIN documents_chunkterms terms ON terms.chunk_id = chunk.id
    JOIN documents_document document ON document.id = chunk.document_id
    JOIN documents_documentversion version ON version.id = chunk.version_id
    WHERE chunk.id = ANY (%(ids)s::uuid[])
"""


def fetch_rows(chunk_ids: Sequence[uuid.UUID]) -> dict[uuid.UUID, StoredChunk]:
    """Read the rows in one statement, under row-level security. Inside namespace()."""
    if not chunk_ids:
        return {}
    return {
        row[0]: StoredChunk(*row[1:]) for row in query_prepared(_ROWS, {"ids": id_array(chunk_ids)})
    }
