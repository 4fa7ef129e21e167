-- Find a key by its prefix and, if the digest matches, count the request against its limit: one
-- round trip for authentication and rate limit together.
CREATE OR REPLACE FUNCTION ragsite.open_api_key(
    wanted text,
    digest text,
    rate_class text,
    usual_limit integer,
    seconds double precision,
    counts boolean
)
 RETURNS TABLE(
    key_id uuid,
    namespace_id uuid,
    secret_sha256 text,
    scopes text[],
    expires_at timestamp with time zone,
    revoked_at timestamp with time zone,
    last_used_at timestamp with time zone,
    request_limit integer,
    is_allowed boolean,
    previous integer,
    current integer,
    elapsed double precision
 )
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $function$
    #variable_conflict use_column
    DECLARE
        known documents_apikey;
    BEGIN
        SELECT * INTO known FROM documents_apikey WHERE prefix = wanted;
        IF NOT FOUND THEN
            RETURN;
        END IF;
        key_id := known.id;
        namespace_id := known.namespace_id;
        secret_sha256 := known.secret_sha256;
        scopes := known.scopes;
        expires_at := known.expires_at;
        revoked_at := known.revoked_at;
        last_used_at := known.last_used_at;
        request_limit := coalesce((known.limits ->> rate_class)::int, usual_limit);
        IF counts AND request_limit > 0 AND known.secret_sha256 = digest THEN
            SELECT counted.is_allowed, counted.previous, counted.current, counted.elapsed
            INTO is_allowed, previous, current, elapsed
            FROM ragsite.count_request(
                'key/' || known.id || '/' || rate_class, request_limit, seconds
            ) counted;
        END IF;
        RETURN NEXT;
    END
$function$;
