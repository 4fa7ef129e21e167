-- Delete expired request counts; return how many.
CREATE OR REPLACE FUNCTION ragsite.forget_request_counts()
 RETURNS bigint
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $function$
    DECLARE
        forgotten bigint;
    BEGIN
        DELETE FROM documents_requestcount WHERE expires_at < clock_timestamp();
        GET DIAGNOSTICS forgotten = ROW_COUNT;
        RETURN forgotten;
    END
$function$;
