-- Profiles that a namespace searches with, or may after a switch or rollback.
CREATE OR REPLACE FUNCTION ragsite.profiles_in_use()
 RETURNS TABLE(profile_id uuid)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $function$
    SELECT active_profile_id FROM documents_namespace
    UNION SELECT unnest(ARRAY[profile_id, replaces_id]) FROM documents_reindex
    WHERE state IN ('building', 'built', 'switched')
$function$;
