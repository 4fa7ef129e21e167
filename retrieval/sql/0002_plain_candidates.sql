-- The same by ts_rank, for queries that have no BM25 weights.
CREATE OR REPLACE FUNCTION ragsite.plain_candidates(
    wanted tsquery,
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
    SELECT terms.chunk_id, terms.document_id,
           ts_rank('{0.5, 0.5, 0.5, 1.0}', terms.search_vector, wanted, 1)::float8
             AS score
    FROM documents_chunkterms terms
    WHERE terms.place @> ragsite.place(ragsite.current_namespace(), in_profile)
      AND (terms.namespace_id = ragsite.current_namespace()) IS TRUE
      AND terms.search_vector @@ wanted
      AND (in_kinds IS NULL OR terms.kind = ANY (in_kinds))
      AND (in_documents IS NULL OR terms.document_id = ANY (in_documents))
    ORDER BY score DESC, terms.chunk_id
    LIMIT at_most
$function$;
