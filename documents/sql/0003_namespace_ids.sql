-- Every namespace's id, for housekeeping.
CREATE OR REPLACE FUNCTION ragsite.namespace_ids()
 RETURNS TABLE(namespace_id uuid)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $function$
    SELECT id FROM documents_namespace
$function$;
