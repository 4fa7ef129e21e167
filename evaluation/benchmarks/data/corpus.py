"""Fill a large namespace for speed benchmarks by writing directly into the tables.

This skips intake and extraction. Words are stored and counted by the service's own code. Indexes
are dropped while rows are inserted and built afterwards, which is many times faster.
"""

import gzip
import hashlib
import json
import multiprocessing
import os
import random
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import groupby, islice
from pathlib import Path
from typing import Any

import numpy as np
from django.db import connections

from documents.ingestion import terms
from documents.ingestion.embedding import as_text
from documents.loading.copying import IndexedDocument, insert_chunks
from documents.models import Document, DocumentVersion, IndexProfile, Namespace
from documents.passages import Extracted, Passage
from ragsite.database.tenancy import namespace

SEPARATOR = "\n\n"
DOCUMENTS_AT_ONCE = 200
# Fraction of words that are replaced in a repeated passage.
REPLACED = 0.3
# Fraction of the documents with this tag.
SHARES = {"half": 0.5, "tenth": 0.1, "hundredth": 0.01, "thousandth": 0.001}


@dataclass(frozen=True, slots=True)
class CorpusDocument:
    """A document with its passages; the ids of its rows are derived from it."""

    source_uri: str
    title: str
    texts: tuple[str, ...]
    owner: uuid.UUID

    @property
    def id(self) -> uuid.UUID:
        return uuid.uuid5(self.owner, self.source_uri)

    @property
    def version_id(self) -> uuid.UUID:
        return uuid.uuid5(self.id, "1")

    def chunk_ids(self, profile: IndexProfile) -> list[uuid.UUID]:
        """As the service derives them (documents/ingestion/chunk_rows.py)."""
        return [uuid.uuid5(self.version_id, f"{profile.pk}/{n}") for n in range(len(self.texts))]

    @property
    def tags(self) -> list[str]:
        luck = int.from_bytes(hashlib.sha256(self.source_uri.encode()).digest()[:4]) / 2**32
        return [name for name, share in SHARES.items() if luck < share]


@dataclass(frozen=True)
class Corpus:
    """All chunks: parallel lists of ids, texts and vectors."""

    tenant: Namespace
    profile: IndexProfile
    pages: Sequence[CorpusDocument]
    matrix: np.ndarray
    ids: list[uuid.UUID] = field(init=False)
    texts: list[str] = field(init=False)
    titles: list[str] = field(init=False)

    def __post_init__(self) -> None:
        pages = self.pages
        object.__setattr__(self, "ids", _ids(pages, self.profile))
        object.__setattr__(self, "texts", [text for page in pages for text in page.texts])
        titles = [page.title for page in pages for _ in page.texts]
        object.__setattr__(self, "titles", titles)

    def rows_tagged(self, tag: str) -> np.ndarray:
        return np.array([tag in page.tags for page in self.pages for _ in page.texts])


def _ids(pages: Sequence[CorpusDocument], profile: IndexProfile) -> list[uuid.UUID]:
    return [pk for page in pages for pk in page.chunk_ids(profile)]


def read_pages(path: Path, *, rows: int, owner: uuid.UUID) -> list[CorpusDocument]:
    """Read documents: consecutive passages with the same title. If the file has too few rows, it is
    read repeatedly as other documents, with some words replaced by words of similar frequency, so
    that vectors are not identical."""
    with gzip.open(path, "rt") as lines:
        passages = [json.loads(line) for line in lines]
    words = [word for passage in passages for word in passage["text"].split()]
    pages: list[CorpusDocument] = []
    wanted, turn = rows, 0
    while wanted > 0:
        groups = groupby(
            passages[:wanted], key=lambda row: (row["_id"].split("#")[0], row["title"])
        )
        for (place, title), group in groups:
            name = f"{turn}/{len(pages)}/{place}"
            texts = tuple(row["text"] for row in group)
            if turn:
                texts = _like(texts, words, random.Random(name))  # noqa: S311
            pages.append(CorpusDocument(name, title, texts, owner))
        wanted -= len(passages)
        turn += 1
    return pages


def _like(texts: Sequence[str], words: Sequence[str], chance: random.Random) -> tuple[str, ...]:
    return tuple(
        " ".join(
            words[int(chance.random() * len(words))] if chance.random() < REPLACED else word
            for word in text.split()
        )
        for text in texts
    )


def load(corpus: Corpus) -> None:
    """Load the corpus into empty tables."""
    with without_indexes(rows=len(corpus.ids)):
        insert(corpus)
    vacuum()


def vacuum() -> None:
    with connections["owner"].cursor() as cursor:
        cursor.execute("VACUUM ANALYZE")


def insert(corpus: Corpus) -> None:
    """Store the words in one process per core."""
    tenant, shares = corpus.tenant, len(os.sched_getaffinity(0))
    connections.close_all()
    context = multiprocessing.get_context("fork")
    hands = [context.Process(target=_insert_share, args=(corpus, n, shares)) for n in range(shares)]
    for hand in hands:
        hand.start()
    for hand in hands:
        hand.join()
    if any(hand.exitcode for hand in hands):
        raise SystemExit("The corpus could not be stored.")
    set_chunk_count(tenant, len(corpus.ids))
    terms.count(tenant.pk, corpus.profile)


def set_chunk_count(tenant: Namespace, chunks: int) -> None:
    with namespace(tenant.pk):
        tenant.chunk_count, tenant.revision = chunks, tenant.revision + 1
        tenant.save(update_fields=["chunk_count", "revision"])


def _insert_share(corpus: Corpus, share: int, shares: int) -> None:
    first = 0
    for number, start in enumerate(range(0, len(corpus.pages), DOCUMENTS_AT_ONCE)):
        pages = corpus.pages[start : start + DOCUMENTS_AT_ONCE]
        rows = sum(len(page.texts) for page in pages)
        if number % shares == share:
            with namespace(corpus.tenant.pk):
                _insert(pages, iter(corpus.matrix[first : first + rows]), corpus)
        first += rows


def first_of(corpus: Corpus, tenant: Namespace, *, share: float) -> Corpus:
    """Return the first documents of a corpus as those of another tenant."""
    some = corpus.pages[: max(1, int(share * len(corpus.pages)))]
    pages = [replace(page, owner=tenant.pk) for page in some]
    rows = sum(len(page.texts) for page in pages)
    return Corpus(tenant, corpus.profile, pages, corpus.matrix[:rows])


def _insert(pages: Sequence[CorpusDocument], vectors: Iterator[np.ndarray], corpus: Corpus) -> None:
    """By the way of `manage.py ingest --bulk`, from the vectors on."""
    documents = [_document(page, corpus) for page in pages]
    versions = [_version(page, corpus) for page in pages]
    Document.objects.bulk_create(documents)
    DocumentVersion.objects.bulk_create(versions)
    insert_chunks(
        corpus.profile,
        (
            IndexedDocument(
                document,
                version,
                Extracted(version.text),
                list(_passages(page)),
                [as_text(vector.tolist()) for vector in islice(vectors, len(page.texts))],
            )
            for page, document, version in zip(pages, documents, versions, strict=True)
        ),
    )


def _document(page: CorpusDocument, corpus: Corpus) -> Document:
    return Document(
        id=page.id,
        namespace=corpus.tenant,
        source_type="txt",
        source_uri=page.source_uri,
        title=page.title,
        content_sha256=hashlib.sha256(page.source_uri.encode()).hexdigest(),
        media_type="text/plain",
        byte_size=1,
        tags=page.tags,
        language="en",
        status=Document.Status.READY,
        live_version=1,
        chunks_count=len(page.texts),
    )


def _version(page: CorpusDocument, corpus: Corpus) -> DocumentVersion:
    return DocumentVersion(
        id=page.version_id,
        namespace=corpus.tenant,
        document_id=page.id,
        number=1,
        state=DocumentVersion.State.LIVE,
        content_sha256="",
        media_type="text/plain",
        byte_size=1,
        storage_key="",
        text=SEPARATOR.join(page.texts),
    )


def _passages(page: CorpusDocument) -> Iterator[Passage]:
    start = 0
    for text in page.texts:
        end = start + len(text)
        yield Passage(text=text, start=start, end=end, tokens=len(text) // 4)
        start = end + len(SEPARATOR)


@contextmanager
def without_indexes(*, rows: int) -> Iterator[dict[str, float]]:
    """Drop the indexes that are slow for each inserted row, HNSW and GIN, and build them
    afterwards. Yields the seconds that each access method took, filled in at the end."""
    seconds: dict[str, float] = {}
    with connections["owner"].cursor() as cursor:
        cursor.execute(
            "SELECT indexname, indexdef FROM pg_indexes WHERE tablename = ANY (%s) "
            "AND indexdef ~ 'USING (hnsw|gin)'",
            [["documents_chunk", "documents_chunkterms"]],
        )
        indexes = cursor.fetchall()
        for name, _ in indexes:
            cursor.execute(f'DROP INDEX "{name}"')
    yield seconds
    with connections["owner"].cursor() as cursor:
        # A graph that does not fit in memory is built many times more slowly.
        cursor.execute(f"SET maintenance_work_mem = '{1 + rows // 300_000}GB'")
        for _, definition in indexes:
            started, method = time.perf_counter(), definition.partition(" USING ")[2].split()[0]
            method = "bit" if "bit_hamming_ops" in definition else method
            cursor.execute(definition)
            took = time.perf_counter() - started
            seconds[method] = seconds.get(method, 0.0) + took


def owner_rows(statement: str, parameters: Any = None) -> list[tuple[Any, ...]]:
    with connections["owner"].cursor() as cursor:
        cursor.execute(statement, parameters)
        rows: list[tuple[Any, ...]] = cursor.fetchall()
        return rows
