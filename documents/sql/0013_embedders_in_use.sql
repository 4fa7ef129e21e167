-- The aliases of embedders that profiles_in_use() need, for warming them up.
CREATE OR REPLACE FUNCTION ragsite.embedders_in_use()
 RETURNS TABLE(embedder text)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $function$
    SELECT DISTINCT embedder::text FROM documents_indexprofile
    WHERE id IN (SELECT profile_id FROM ragsite.profiles_in_use())
$function$;
