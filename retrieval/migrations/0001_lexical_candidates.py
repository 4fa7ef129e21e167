"""The lexical leg's candidate search, past row-level security and behind its own tenant check.

`@@` is not leakproof, so under row-level security PostgreSQL would never use the GIN index. As the
definer role it does; the function asks for the tenant first and returns ids and scores only. The
rows themselves are read back under row-level security.
"""

from django.db import migrations

from ragsite.database.isolation import DefinerFunction


class Migration(migrations.Migration):
    initial = True
    # Its function reads a column that goes there; 0002 replaces the function.
    run_before = [("documents", "0005_lexical_engine")]
    dependencies = [("documents", "0004_default_profile")]

    operations = [
        DefinerFunction(
            "lexical_candidates(wanted tsquery, in_profile uuid, any_tags text[], "
            "in_documents uuid[], in_source_types text[], dated_from timestamptz, "
            "dated_to timestamptz, with_metadata jsonb, at_most int)",
            "TABLE (chunk_id uuid, document_id uuid, score real)",
            # Title and section (weight A) count twice as much as content (weight D).
            """
            SELECT chunk.id, chunk.document_id,
                   ts_rank('{0.5, 0.5, 0.5, 1.0}', chunk.search_vector, wanted, 1) AS score
            FROM documents_chunk chunk
            JOIN documents_document document ON document.id = chunk.document_id
            WHERE chunk.namespace_id = ragsite.current_namespace()
              AND chunk.profile_id = in_profile
              AND chunk.search_vector @@ wanted
              AND (any_tags IS NULL OR document.tags && any_tags)
              AND (in_documents IS NULL OR document.id = ANY (in_documents))
              AND (in_source_types IS NULL OR document.source_type = ANY (in_source_types))
              AND (dated_from IS NULL OR document.dated_at >= dated_from)
              AND (dated_to IS NULL OR document.dated_at <= dated_to)
              AND (with_metadata IS NULL OR document.metadata @> with_metadata)
            ORDER BY score DESC, chunk.id
            LIMIT at_most
            """,
        ),
    ]
