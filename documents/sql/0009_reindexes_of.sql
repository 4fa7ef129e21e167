-- Reindexes that were leased to one of these dead worker groups.
CREATE OR REPLACE FUNCTION ragsite.reindexes_of(dead_workers text[])
 RETURNS TABLE(reindex_id uuid, namespace_id uuid)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $function$
    SELECT id, namespace_id FROM documents_reindex
    WHERE lease_until IS NOT NULL AND worker = ANY (dead_workers)
$function$;
