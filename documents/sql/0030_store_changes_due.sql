-- Namespaces and profiles whose store is behind now, longest waiting first: for the
-- workers, which see one namespace at a time.
CREATE OR REPLACE FUNCTION ragsite.store_changes_due(at_most integer)
 RETURNS TABLE(namespace_id uuid, profile_id uuid)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $function$
    SELECT change.namespace_id, change.profile_id FROM documents_storechange change
    WHERE change.run_after <= now()
      AND (change.lease_until IS NULL OR change.lease_until < now())
    GROUP BY change.namespace_id, change.profile_id
    ORDER BY min(change.id) LIMIT at_most
$function$;
