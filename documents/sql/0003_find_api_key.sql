-- Find a key by its public prefix, across tenants. Not called any more: open_api_key took its
-- place.
CREATE OR REPLACE FUNCTION ragsite.find_api_key(wanted text)
 RETURNS TABLE(
    key_id uuid,
    namespace_id uuid,
    secret_sha256 text,
    scopes text[],
    expires_at timestamp with time zone,
    revoked_at timestamp with time zone,
    last_used_at timestamp with time zone
 )
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $function$
    SELECT id, namespace_id, secret_sha256::text, scopes::text[],
           expires_at, revoked_at, last_used_at
    FROM documents_apikey WHERE prefix = wanted
$function$;
