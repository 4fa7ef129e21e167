-- The best chunks by BM25 for a query, inside one namespace and profile. It runs as the definer
-- role so that its indexes can be used (row-level security would come first), always through an
-- index and with a plan of its own for every call: the words decide which plan is right.
CREATE OR REPLACE FUNCTION ragsite.lexical_candidates(
    wanted tsquery,
    weights sparsevec,
    in_profile uuid,
    in_kinds text[],
    in_documents uuid[],
    at_most integer
)
 RETURNS TABLE(chunk_id uuid, document_id uuid, score double precision)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
 SET plan_cache_mode TO 'force_custom_plan'
 SET enable_seqscan TO 'off'
AS $function$
    SELECT terms.chunk_id, terms.document_id, -(terms.impacts <#> weights)
    FROM documents_chunkterms terms
    WHERE terms.place @> ragsite.place(ragsite.current_namespace(), in_profile)
      AND (terms.namespace_id = ragsite.current_namespace()) IS TRUE
      AND terms.search_vector @@ wanted
      AND (in_kinds IS NULL OR terms.kind = ANY (in_kinds))
      AND (in_documents IS NULL OR terms.document_id = ANY (in_documents))
    ORDER BY terms.impacts <#> weights, terms.chunk_id
    LIMIT at_most
$function$;
