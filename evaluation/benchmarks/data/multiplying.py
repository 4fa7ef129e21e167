"""A corpus many times over, made inside the database: for sizes that no file of passages has.

Every copy of a chunk has half of its words and half of those of a chunk nearby, and a vector
between theirs, so that copies are no twins. Its text is the first one's. Rows are written directly,
without triggers: the rate of this says nothing about loading.
"""

import hashlib
import uuid
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
from django.db import connections

from documents.ingestion.terms import usual_length
from evaluation.benchmarks.data.corpus import Corpus, CorpusDocument

SHIFT = 7  # chunks to the nearby one, times the number of the copy

_BASE = """
    CREATE UNLOGGED TABLE bench_base AS
    SELECT chunk.n, chunk.id AS chunk_id,
           ts_delete(terms.search_vector, ARRAY(
               SELECT lexeme FROM unnest(terms.search_vector) WHERE hashtext(lexeme) & 1 = 0
           )) AS odd,
           ts_delete(terms.search_vector, ARRAY(
               SELECT lexeme FROM unnest(terms.search_vector) WHERE hashtext(lexeme) & 1 = 1
           )) AS even
    FROM unnest(%s::uuid[]) WITH ORDINALITY AS chunk (id, n)
    JOIN documents_chunkterms terms ON terms.chunk_id = chunk.id
"""
_PAIRS = """
    FROM bench_base base
    JOIN bench_base near ON near.n = 1 + (base.n - 1 + {shift}) %% {rows}
"""


def multiplied(corpus: Corpus, times: int, *, there: int = 1) -> Corpus:
    """Add copies of a loaded corpus until there is `times` as much of it; return the whole. So
    many times are `there` already."""
    with connections["owner"].cursor() as cursor:
        cursor.execute("DROP TABLE IF EXISTS bench_base")
        cursor.execute(_BASE, [[str(pk) for pk in corpus.ids]])
        cursor.execute("CREATE INDEX ON bench_base (n)")
        cursor.execute("ANALYZE bench_base")
    connections.close_all()
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda number: _copy(corpus, number), range(there, times)))
    matrices = [corpus.matrix]
    for number in range(1, times):
        both = corpus.matrix + np.roll(corpus.matrix, -SHIFT * number, axis=0)
        matrices.append(both / np.linalg.norm(both, axis=1, keepdims=True))
    pages: list[CorpusDocument] = list(corpus.pages)
    ids = list(corpus.ids)
    for number in range(1, times):
        pages += [replace(page, source_uri=f"{page.source_uri}/{number}") for page in corpus.pages]
        ids += [_id(pk, number) for pk in corpus.ids]
    whole = Corpus(corpus.tenant, corpus.profile, pages, np.concatenate(matrices))
    object.__setattr__(whole, "ids", ids)
    return whole


def _id(pk: uuid.UUID, number: int) -> uuid.UUID:
    digest = hashlib.md5(f"{pk}{number}".encode(), usedforsecurity=False)
    return uuid.UUID(digest.hexdigest())


def _copy(corpus: Corpus, number: int) -> None:
    rows = len(corpus.ids)
    pairs = _PAIRS.format(shift=SHIFT * number, rows=rows)

    def new(column: str) -> str:
        return f"md5({column}::text || '{number}')::uuid"

    of_tenant = "FROM {table} AS old WHERE old.namespace_id = %(tenant)s AND old.id = ANY (%(ids)s)"
    documents = [str(page.id) for page in corpus.pages]
    versions = [str(page.version_id) for page in corpus.pages]
    try:
        with connections["owner"].cursor() as cursor:
            cursor.execute("SET session_replication_role = replica")  # without triggers
            _insert(
                cursor,
                "documents_document",
                {"id": new("old.id"), "source_uri": f"old.source_uri || '/{number}'"},
                of_tenant,
                documents,
                corpus,
            )
            same = {"id": new("old.id"), "document_id": new("old.document_id")}
            _insert(cursor, "documents_documentversion", same, of_tenant, versions, corpus)
            chunk = {**same, "version_id": new("old.version_id")}
            chunk["embedding"] = "l2_normalize(old.embedding + other.embedding)"
            joined = (
                f"{pairs} JOIN documents_chunk old ON old.id = base.chunk_id "
                "JOIN documents_chunk other ON other.id = near.chunk_id"
            )
            _insert(cursor, "documents_chunk", chunk, joined, [], corpus)
            mixed, length = "base.odd || near.even", usual_length(corpus.profile)
            words = {
                "chunk_id": new("old.chunk_id"),
                "document_id": new("old.document_id"),
                "words_hash": f"hashtextextended(old.chunk_id::text, {number})",
                "search_vector": mixed,
                "impacts": f"ragsite.impacts({mixed}, {length})",
            }
            joined = f"{pairs} JOIN documents_chunkterms old ON old.chunk_id = base.chunk_id"
            _insert(cursor, "documents_chunkterms", words, joined, [], corpus)
    finally:
        connections.close_all()


def _insert(
    cursor: Any,
    table: str,
    changed: Mapping[str, str],
    source: str,
    ids: Sequence[str],
    corpus: Corpus,
) -> None:
    cursor.execute(
        "SELECT column_name FROM information_schema.columns WHERE table_name = %s "
        "AND table_schema = 'public' AND is_generated = 'NEVER' ORDER BY ordinal_position",
        [table],
    )
    names = [name for (name,) in cursor.fetchall()]
    columns = ", ".join(f'"{name}"' for name in names)
    values = ", ".join(changed.get(name, f'old."{name}"') for name in names)
    statement = f"INSERT INTO {table} ({columns}) SELECT {values} {source.format(table=table)}"
    cursor.execute(statement, {"tenant": corpus.tenant.pk, "ids": ids})
