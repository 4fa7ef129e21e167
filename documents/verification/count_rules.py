"""Rules about counters: passages, documents, bytes and words."""

from . import mending
from .checks import QueryCheck

# The guarantee of documents/ingestion/terms.py: counts are exact if nothing has changed since they
# were made, and are renewed when a namespace has grown by a fifth. After deletions housekeeping
# renews them within the hour.
_COUNTED = """
    SELECT tenant.id FROM documents_namespace tenant
    LEFT JOIN documents_termstatistics known
           ON known.namespace_id = tenant.id AND known.profile_id = tenant.active_profile_id
    WHERE tenant.id = %(namespace)s AND {wrong}
"""

COUNTS = (
    QueryCheck(
        "counters",
        "namespace counts more or fewer passages than it has",
        """
        SELECT tenant.id FROM documents_namespace tenant
        WHERE tenant.id = %(namespace)s AND tenant.chunk_count <> (
            SELECT count(*) FROM documents_chunk
            WHERE namespace_id = tenant.id AND profile_id = tenant.active_profile_id)
        """,
        mending.COUNT_CHUNKS,
    ),
    QueryCheck(
        "counters",
        "namespace counts other documents or bytes than it has, and its quotas with them",
        """
        SELECT tenant.id FROM documents_namespace tenant
        LEFT JOIN documents_namespaceusage usage ON usage.namespace_id = tenant.id
        WHERE tenant.id = %(namespace)s
          AND (coalesce(usage.documents, 0) <> (
                   SELECT count(*) FROM documents_document WHERE namespace_id = tenant.id)
               OR coalesce(usage.bytes, 0) <> (
                   SELECT coalesce(sum(byte_size), 0) FROM documents_documentversion
                   WHERE namespace_id = tenant.id))
        """,
        mending.COUNT_USAGE,
    ),
    QueryCheck(
        "term_counts",
        "namespace has passages, but its words were never counted, or it has grown a lot since",
        _COUNTED.format(
            wrong="""tenant.chunk_count > 1.2 * coalesce(known.chunks, 0)
                AND NOT EXISTS (SELECT FROM documents_ingestjob
                                WHERE namespace_id = tenant.id AND state = 'running')"""
        ),
        mending.COUNT_WORDS,
    ),
    # Whatever has changed since: a word is in some of the passages that were counted.
    QueryCheck(
        "term_counts",
        "namespace has words that are counted in no passage, or in more than there were",
        _COUNTED.format(
            wrong="""EXISTS (
                SELECT FROM documents_termfrequency
                WHERE namespace_id = %(namespace)s AND profile_id = %(profile)s
                  AND chunks NOT BETWEEN 1 AND known.chunks)"""
        ),
        mending.COUNT_WORDS,
    ),
    QueryCheck(
        "term_counts",
        "namespace has words that are counted wrongly",
        _COUNTED.format(
            wrong="""known.revision = tenant.revision AND EXISTS (
                SELECT FROM ts_stat(format(
                    'SELECT search_vector FROM documents_chunkterms '
                    'WHERE namespace_id = %%L AND profile_id = %%L',
                    %(namespace)s::text, %(profile)s::text)) counted
                FULL JOIN (SELECT lexeme, chunks FROM documents_termfrequency
                           WHERE namespace_id = %(namespace)s AND profile_id = %(profile)s) kept
                       ON kept.lexeme = counted.word COLLATE "C"
                WHERE kept.chunks IS DISTINCT FROM counted.ndoc)"""
        ),
        mending.COUNT_WORDS,
    ),
)
