"""The words of chunks: stored for lexical search, and counted for BM25 from time to time."""

import uuid
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from django.db import connection
from django.db.models.functions import Now

from documents.models import (
    Chunk,
    ChunkTerms,
    IndexProfile,
    Namespace,
    TermFrequency,
    TermStatistics,
)
from documents.passages import Passage
from documents.text.languages import configuration
from documents.text.lexemes import prepare
from ragsite.database.tenancy import namespace

# Slightly outdated counts do not change rankings, so words are recounted only when the namespace
# has grown or shrunk by this share.
STALE_SHARE = 0.2

# Usual number of stems for each token (or character) that a chunk may have. Only the ratio between
# long and short chunks matters, so it is a constant: a chunk's weights do not depend on earlier
# ones.
MAX_TABLE_FACTOR = 4.0  # factor by which figures increase the usual length of a table chunk
STEMS_PER_TOKEN, STEMS_PER_CHARACTER = 0.3, 0.06

# Joined to rows of `chunk` with the words of its place, running text and extras.
STEMS = """
    CROSS JOIN LATERAL (
        SELECT setweight(to_tsvector({configuration}, chunk.place), 'A')
            || setweight(to_tsvector({configuration}, chunk.running), 'D')
            || setweight(to_tsvector({configuration}, chunk.extras), 'C') AS words
    ) stems
"""

_INSERT = """
    INSERT INTO documents_chunkterms
        (chunk_id, namespace_id, profile_id, document_id, kind, place, words_hash, search_vector,
         impacts)
    SELECT chunk.id, %(namespace)s, %(profile)s, %(document)s, chunk.kind,
           ragsite.place(%(namespace)s, %(profile)s), hashtextextended(lower(chunk.running), 0),
           stems.words, ragsite.impacts(stems.words, chunk.average_length)
    FROM unnest(%(ids)s::uuid[], %(kinds)s::text[], %(places)s::text[], %(running)s::text[],
                %(extras)s::text[], %(average_lengths)s::float8[])
         AS chunk (id, kind, place, running, extras, average_length)
    {stems}
"""
# Words and chunks in one statement, so that both are counted in the same snapshot.
_COUNT = """
    WITH counted AS (
        INSERT INTO documents_termfrequency (namespace_id, profile_id, lexeme, chunks)
        SELECT %(namespace)s, %(profile)s, word, ndoc FROM ts_stat(format(
            'SELECT search_vector FROM documents_chunkterms '
            'WHERE namespace_id = %%L AND profile_id = %%L',
            %(namespace)s::text, %(profile)s::text))
    )
    SELECT count(*) FROM documents_chunkterms
    WHERE namespace_id = %(namespace)s AND profile_id = %(profile)s
"""


@dataclass(frozen=True, slots=True)
class ChunkWords:
    """A chunk's text, title and headings."""

    chunk_id: uuid.UUID
    kind: str
    place: str
    content: str


class PreparedWords(NamedTuple):
    """A chunk's words as the statements above take them."""

    place: str
    running: str
    extras: str
    average_length: float


def words_of(chunk_id: uuid.UUID, title: str, passage: Passage) -> ChunkWords:
    """Collect a passage's words: all its sections are its place, a table's header is content."""
    shared = [section.rpartition(" > ")[2] for section in passage.attributes.get("sections", ())]
    place = "\n".join([title, *passage.heading_path, *shared])
    header = passage.attributes.get("table_header", "")
    content = f"{header}\n{passage.text}" if header else passage.text
    return ChunkWords(chunk_id, passage.kind, place, content)


def store(
    chunks: Sequence[ChunkWords],
    *,
    namespace_id: uuid.UUID,
    profile: IndexProfile,
    document_id: uuid.UUID,
    language: str,
) -> None:
    """Store the chunks' words; title and section weigh more than content. Inside namespace()."""
    if not chunks:
        return
    places, running, extras, average_lengths = zip(*prepared(chunks, profile), strict=True)
    with connection.cursor() as cursor:
        cursor.execute(
            _INSERT.format(stems=STEMS.format(configuration="%(configuration)s::regconfig")),
            {
                "namespace": namespace_id,
                "profile": profile.pk,
                "document": document_id,
                "configuration": configuration(language),
                "average_lengths": list(average_lengths),
                "ids": [chunk.chunk_id for chunk in chunks],
                "kinds": [chunk.kind for chunk in chunks],
                "places": list(places),
                "running": list(running),
                "extras": list(extras),
            },
        )


def prepared(chunks: Sequence[ChunkWords], profile: IndexProfile) -> list[PreparedWords]:
    places = {place: prepare(place) for place in {chunk.place for chunk in chunks}}
    average = usual_length(profile)
    found = []
    for chunk in chunks:
        place, content = places[chunk.place], prepare(chunk.content)
        length = average * _length_allowance(chunk.kind, content.running)
        extras = f"{place.extras} {content.extras}".strip()
        found.append(PreparedWords(place.running, content.running, extras, length))
    return found


def _length_allowance(kind: str, running: str) -> float:
    """Return by how much a chunk may exceed the usual length before BM25 discounts it.

    Figures in a table, unlike words, do not make it less relevant to its subject.
    """
    if kind != Chunk.Kind.TABLE:
        return 1.0
    words = running.split()
    others = sum(not word[0].isdigit() for word in words)
    return min(MAX_TABLE_FACTOR, len(words) / others) if others else 1.0


def usual_length(profile: IndexProfile) -> float:
    by_characters = profile.chunker == IndexProfile.Chunker.FIXED
    return profile.chunk_size * (STEMS_PER_CHARACTER if by_characters else STEMS_PER_TOKEN)


def record_growth(
    namespace_id: uuid.UUID,
    profile: IndexProfile,
    *,
    chunks: int,
    languages: Collection[str],
    stale_share: float = STALE_SHARE,
) -> bool:
    """Add to the namespace's chunk count under the active profile. Inside namespace().

    Returns whether to recount the words: much has changed, or a language is new.
    """
    configurations = sorted({configuration(language) for language in languages})
    with connection.cursor() as cursor:
        cursor.execute(
            "WITH tenant AS (UPDATE documents_namespace SET revision = revision + 1, "
            "                chunk_count = chunk_count + %s WHERE id = %s RETURNING chunk_count) "
            "SELECT tenant.chunk_count, known.chunks, known.configurations ?& %s FROM tenant "
            "LEFT JOIN documents_termstatistics known "
            "ON known.namespace_id = %s AND known.profile_id = %s",
            [chunks, namespace_id, configurations, namespace_id, profile.pk],
        )
        total, counted, are_known = cursor.fetchone()
    return counted is None or not are_known or abs(total - counted) > stale_share * counted


def count_if_stale(namespace_id: uuid.UUID, profile: IndexProfile) -> bool:
    """Count the words under any profile if enough has changed; True if they were counted."""
    with namespace(namespace_id):
        tenant = Namespace.objects.get(pk=namespace_id)
        known = TermStatistics.objects.filter(namespace=tenant, profile=profile).first()
        chunks = _chunks_of(tenant, profile)
        if known is not None and abs(chunks - known.chunks) <= STALE_SHARE * known.chunks:
            return False
        return _count(tenant, profile)


def _chunks_of(tenant: Namespace, profile: IndexProfile) -> int:
    if profile.pk == tenant.active_profile_id:
        return tenant.chunk_count
    return ChunkTerms.objects.filter(namespace=tenant, profile=profile).count()


def count(namespace_id: uuid.UUID, profile: IndexProfile) -> bool:
    """Count the words if anything has changed; False if not, or if another process is counting."""
    with namespace(namespace_id):
        tenant = Namespace.objects.get(pk=namespace_id)
        known = TermStatistics.objects.filter(namespace=tenant, profile=profile).first()
        if known is not None and known.revision == tenant.revision:
            return False
        return _count(tenant, profile)


def recount(namespace_id: uuid.UUID, profile: IndexProfile) -> bool:
    """Count the words even if nothing has changed; False if another process is counting."""
    with namespace(namespace_id):
        return _count(Namespace.objects.get(pk=namespace_id), profile)


def _count(tenant: Namespace, profile: IndexProfile) -> bool:
    key = {"namespace": tenant.pk, "profile": profile.pk}
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_try_advisory_xact_lock(hashtextextended('terms' || %(namespace)s, 0))", key
        )
        if not cursor.fetchone()[0]:
            return False
        TermFrequency.objects.filter(**key).delete()
        cursor.execute(_COUNT, key)
        (chunks,) = cursor.fetchone()
        cursor.execute(
            "SELECT language, sum(chunks_count) FROM documents_document "
            "WHERE namespace_id = %(namespace)s AND live_version IS NOT NULL GROUP BY language",
            key,
        )
        configurations: Counter[str] = Counter()
        for language, chunks in cursor.fetchall():
            configurations[configuration(language)] += int(chunks)
    TermStatistics.objects.update_or_create(
        namespace=tenant,
        profile=profile,
        defaults={
            "chunks": chunks,
            "configurations": configurations,
            "revision": tenant.revision,
            "counted_at": Now(),
        },
    )
    return True
