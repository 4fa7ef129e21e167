"""The lexical leg's candidate search by BM25, and the plain one for namespaces not yet counted.

Both look past row-level security, because `@@` is not leakproof and PostgreSQL would never use the
GIN index under it; both ask for the tenant first and return ids and scores only.
"""

from django.db import migrations

from ragsite.database.isolation import DefinerFunction

# The place finds the tenant's rows through the same index as the words. The namespace is asked for
# once more behind it; IS TRUE keeps the planner from reading the whole tenant by that instead.
WHERE = """
    FROM documents_chunkterms terms
    WHERE terms.place @> ragsite.place(ragsite.current_namespace(), in_profile)
      AND (terms.namespace_id = ragsite.current_namespace()) IS TRUE
      AND terms.search_vector @@ wanted
      AND (in_kinds IS NULL OR terms.kind = ANY (in_kinds))
      AND (in_documents IS NULL OR terms.document_id = ANY (in_documents))
"""


class Migration(migrations.Migration):
    dependencies = [
        ("retrieval", "0001_lexical_candidates"),
        ("documents", "0005_lexical_engine"),
    ]

    operations = [
        migrations.RunSQL("DROP FUNCTION ragsite.lexical_candidates", migrations.RunSQL.noop),
        DefinerFunction(
            "lexical_candidates(wanted tsquery, weights sparsevec, in_profile uuid, "
            "in_kinds text[], in_documents uuid[], at_most int)",
            "TABLE (chunk_id uuid, document_id uuid, score float8)",
            f"""
            SELECT terms.chunk_id, terms.document_id, -(terms.impacts <#> weights)
            {WHERE}
            ORDER BY terms.impacts <#> weights, terms.chunk_id
            LIMIT at_most
            """,
            # A plan for every call: which words are asked for decides which one is right. And
            # never through the whole table, however common the words.
            options={"plan_cache_mode": "force_custom_plan", "enable_seqscan": "off"},
        ),
        DefinerFunction(
            "plain_candidates(wanted tsquery, in_profile uuid, in_kinds text[], "
            "in_documents uuid[], at_most int)",
            "TABLE (chunk_id uuid, document_id uuid, score float8)",
            f"""
            SELECT terms.chunk_id, terms.document_id,
                   ts_rank('{{0.5, 0.5, 0.5, 1.0}}', terms.search_vector, wanted, 1)::float8
                     AS score
            {WHERE}
            ORDER BY score DESC, terms.chunk_id
            LIMIT at_most
            """,
            options={"plan_cache_mode": "force_custom_plan", "enable_seqscan": "off"},
        ),
    ]
