"""COPY the chunks of many documents into a temporary table, and from there into their tables.

Row-level security refuses COPY to the application role. A temporary table is the session's own and
has no policy; INSERT … SELECT then writes into the transaction's namespace, where the policies and
the foreign keys, which carry the namespace, check every row.
"""

import uuid
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from django.db import connection

from documents.ingestion.chunk_rows import chunk_rows
from documents.ingestion.terms import STEMS, prepared, words_of
from documents.models import Document, DocumentVersion, IndexProfile
from documents.passages import Extracted, Passage
from documents.text.languages import configuration

# Dropped with the transaction, so that it works behind a pooler, too.
_TABLE = """
    CREATE TEMPORARY TABLE loaded_chunk (
        document_id uuid, version_id uuid, id uuid, ordinal int, kind text, content text,
        tokens int, section text, start int, "end" int, page_start int, page_end int,
        metadata jsonb, chunk_hash text, embedding halfvec,
        place text, running text, extras text, average_length float8, configuration regconfig
    ) ON COMMIT DROP
"""
_COPY = "COPY loaded_chunk FROM STDIN"
_CHUNKS = """
    INSERT INTO documents_chunk (namespace_id, profile_id, document_id, version_id,
                                 id, ordinal, kind, content, tokens, section, start, "end",
                                 page_start, page_end, metadata, chunk_hash, embedding)
    SELECT ragsite.current_namespace(), %(profile)s, document_id, version_id,
           id, ordinal, kind, content, tokens, section, start, "end",
           page_start, page_end, metadata, chunk_hash, embedding
    FROM loaded_chunk
"""
_WORDS = """
    INSERT INTO documents_chunkterms
        (chunk_id, namespace_id, profile_id, document_id, kind, place, words_hash, search_vector,
         impacts)
    SELECT chunk.id, tenant.id, %(profile)s, chunk.document_id, chunk.kind, tenant.place,
           hashtextextended(lower(chunk.running), 0),
           stems.words, ragsite.impacts(stems.words, chunk.average_length)
    FROM (SELECT ragsite.current_namespace() AS id,
                 ragsite.place(ragsite.current_namespace(), %(profile)s) AS place OFFSET 0) tenant
    CROSS JOIN loaded_chunk chunk
    {stems}
"""


class IndexedDocument(NamedTuple):
    """A document with its passages and their vectors, as text (embedding.as_text)."""

    document: Document
    version: DocumentVersion
    extracted: Extracted
    passages: Sequence[Passage]
    vectors: Sequence[str]


def insert_chunks(profile: IndexProfile, indexed: Iterable[IndexedDocument]) -> None:
    """Insert the chunks and words of these documents of one namespace. Inside namespace()."""
    with connection.cursor() as cursor:
        cursor.execute("DROP TABLE IF EXISTS pg_temp.loaded_chunk")
        cursor.execute(_TABLE)
        with cursor.copy(_COPY) as rows:
            for one in indexed:
                for row in _rows(profile, one):
                    rows.write_row(row)
        parameters: dict[str, uuid.UUID] = {"profile": profile.pk}
        cursor.execute(_CHUNKS, parameters)
        stems = STEMS.format(configuration="chunk.configuration")
        cursor.execute(_WORDS.format(stems=stems), parameters)


def _rows(profile: IndexProfile, one: IndexedDocument) -> Iterable[tuple[Any, ...]]:
    keys = (one.document.pk, one.version.pk)
    chunks = chunk_rows(one.version, profile, one.extracted, one.passages, one.vectors)
    words = [
        words_of(row[0], one.document.title, passage)
        for row, passage in zip(chunks, one.passages, strict=True)
    ]
    language = configuration(one.document.language)
    for row, prepared_words in zip(chunks, prepared(words, profile), strict=True):
        yield (*keys, *row, *prepared_words, language)
