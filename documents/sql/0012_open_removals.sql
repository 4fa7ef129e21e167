-- Bulk deletions that are unfinished and that no worker holds, oldest first.
CREATE OR REPLACE FUNCTION ragsite.open_removals(at_most integer)
 RETURNS TABLE(removal_id uuid, namespace_id uuid)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $function$
    SELECT id, namespace_id FROM documents_documentremoval
    WHERE state <> 'done' AND (lease_until IS NULL OR lease_until <= now())
    ORDER BY created_at LIMIT at_most
$function$;
