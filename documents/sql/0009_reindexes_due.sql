-- Reindexes that have work and no builder, unless `at_most` builders are at work already; those
-- that are already in use come before those still being built.
CREATE OR REPLACE FUNCTION ragsite.reindexes_due(at_most integer)
 RETURNS TABLE(reindex_id uuid, namespace_id uuid)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $function$
    SELECT id, namespace_id FROM documents_reindex
    WHERE has_work AND state IN ('building', 'built', 'switched') AND run_after <= now()
      AND (lease_until IS NULL OR lease_until < now())
      AND (SELECT count(*) FROM documents_reindex WHERE lease_until >= now()) < at_most
    ORDER BY (state = 'building'), run_after LIMIT 16
$function$;
