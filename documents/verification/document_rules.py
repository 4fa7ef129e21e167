"""Rules about documents: processing ends, one version is live, its passages are complete and exact.

Rules about passages report their document, because a document is what can be indexed again.
"""

from . import mending
from .checks import QueryCheck

STATES = (
    QueryCheck(
        "states",
        "documents wait or are being indexed, but no job is open for them",
        """
        SELECT document.id FROM documents_document document
        WHERE document.namespace_id = %(namespace)s AND document.status IN ('queued', 'processing')
          AND NOT EXISTS (SELECT FROM documents_ingestjob job
                          WHERE job.namespace_id = %(namespace)s
                            AND job.state IN ('queued', 'running')
                            AND job.document_id = document.id)
        """,
        mending.RETRY,
    ),
    QueryCheck(
        "states",
        "failed documents have no error code",
        """
        SELECT id FROM documents_document
        WHERE namespace_id = %(namespace)s AND status = 'failed' AND error_code = ''
        """,
        mending.RETRY,
    ),
    QueryCheck(
        "states",
        "older versions wait or are being indexed, but no job is open for them",
        """
        SELECT version.id FROM documents_documentversion version
        JOIN documents_document document ON document.id = version.document_id
        WHERE version.namespace_id = %(namespace)s AND version.state IN ('queued', 'processing')
          AND version.number < document.document_version
          AND NOT EXISTS (SELECT FROM documents_ingestjob job
                          WHERE job.namespace_id = %(namespace)s
                            AND job.state IN ('queued', 'running') AND job.version_id = version.id)
        """,
        mending.CANCEL_VERSIONS,
    ),
)

VERSIONS = (
    QueryCheck(
        "live_versions",
        "documents have no newest version",
        """
        SELECT document.id FROM documents_document document
        WHERE document.namespace_id = %(namespace)s
          AND NOT EXISTS (SELECT FROM documents_documentversion version
                          WHERE version.document_id = document.id
                            AND version.number = document.document_version)
        """,
    ),
    QueryCheck(
        "live_versions",
        "documents are ready or searchable without exactly one live version",
        """
        SELECT document.id FROM documents_document document
        LEFT JOIN documents_documentversion version
               ON version.document_id = document.id AND version.state = 'live'
        WHERE document.namespace_id = %(namespace)s
          AND (document.status = 'ready' OR document.live_version IS NOT NULL
               OR version.id IS NOT NULL)
        GROUP BY document.id
        HAVING count(version.id) <> 1 OR bool_or(document.live_version IS DISTINCT FROM
                                                 version.number)
        """,
        mending.POINT_TO_LIVE,
    ),
)

PASSAGES = (
    QueryCheck(
        "ordinals",
        "documents have passages whose numbers do not run from 0 without gaps",
        """
        SELECT DISTINCT document_id AS id FROM (
            SELECT document_id FROM documents_chunk WHERE namespace_id = %(namespace)s
            GROUP BY document_id, version_id, profile_id
            HAVING min(ordinal) <> 0 OR max(ordinal) <> count(*) - 1
        ) numbered
        """,
        mending.INDEX_AGAIN,
    ),
    # Some may be missing during a reindex, or if its failures were accepted.
    QueryCheck(
        "passage_counts",
        "searchable documents have more or fewer passages than they were indexed with",
        """
        SELECT document.id FROM documents_document document
        JOIN documents_documentversion version
          ON version.document_id = document.id AND version.state = 'live'
        LEFT JOIN (SELECT document_id, count(*) AS chunks FROM documents_chunk
                   WHERE namespace_id = %(namespace)s AND profile_id = %(profile)s
                   GROUP BY document_id) own ON own.document_id = document.id
        WHERE document.namespace_id = %(namespace)s
          AND document.chunks_count <> coalesce(own.chunks, 0)
          AND NOT EXISTS (
              SELECT FROM documents_reindex reindex
              WHERE reindex.namespace_id = %(namespace)s
                AND (reindex.failures ? version.id::text
                     OR reindex.has_work AND reindex.state IN ('building', 'built', 'switched')))
        """,
        mending.INDEX_AGAIN,
    ),
    QueryCheck(
        "vectors",
        "documents have passages whose vector is zero, not a number or of another length "
        "than the profile's",
        """
        SELECT DISTINCT chunk.document_id AS id FROM documents_chunk chunk
        JOIN documents_indexprofile profile ON profile.id = chunk.profile_id
        CROSS JOIN LATERAL (SELECT l2_norm(chunk.embedding) AS length OFFSET 0) vector
        WHERE chunk.namespace_id = %(namespace)s
          AND (vector_dims(chunk.embedding) <> profile.dimensions
               OR vector.length IN (0, 'NaN', 'Infinity'))
        """,
        mending.INDEX_AGAIN,
    ),
    QueryCheck(
        "vectors",
        "cached embeddings are zero or not a number",
        """
        SELECT id FROM documents_embeddingcache
        WHERE namespace_id = %(namespace)s AND vector_norm(embedding) IN (0, 'NaN', 'Infinity')
        """,
        mending.FORGET_CACHED,
    ),
    QueryCheck(
        "terms",
        "documents have passages whose words are missing or filed under something else",
        """
        SELECT DISTINCT chunk.document_id AS id FROM documents_chunk chunk
        LEFT JOIN documents_chunkterms terms ON terms.chunk_id = chunk.id
        WHERE chunk.namespace_id = %(namespace)s
          AND (terms.chunk_id IS NULL OR terms.profile_id <> chunk.profile_id
               OR terms.document_id <> chunk.document_id OR terms.kind <> chunk.kind
               OR terms.place <> ragsite.place(chunk.namespace_id, chunk.profile_id))
        """,
        mending.INDEX_AGAIN,
    ),
)

LEFTOVERS = (
    QueryCheck(
        "orphans",
        "passages under the active profile belong to a version that is not live",
        """
        SELECT chunk.id FROM documents_chunk chunk
        JOIN documents_documentversion version ON version.id = chunk.version_id
        WHERE chunk.namespace_id = %(namespace)s AND chunk.profile_id = %(profile)s
          AND version.state <> 'live'
        """,
        mending.DELETE_CHUNKS,
    ),
    # Housekeeping removes those of a finished reindex within the hour.
    QueryCheck(
        "orphans",
        "index profiles have passages here, but neither searches nor a reindex use them",
        """
        SELECT DISTINCT chunk.profile_id AS id FROM documents_chunk chunk
        WHERE chunk.namespace_id = %(namespace)s AND chunk.profile_id <> %(profile)s
          AND NOT EXISTS (
              SELECT FROM documents_reindex reindex
              WHERE reindex.namespace_id = %(namespace)s
                AND chunk.profile_id IN (reindex.profile_id, reindex.replaces_id)
                AND (reindex.state IN ('building', 'built', 'switched')
                     OR reindex.ended_at > now() - interval '2 hours'))
        """,
        mending.DELETE_PROFILES_CHUNKS,
    ),
)
