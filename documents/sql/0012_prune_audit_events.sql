-- Delete audit events older than so many days; return how many. A policy keeps it from younger
-- rows.
CREATE OR REPLACE FUNCTION ragsite.prune_audit_events(older_than_days integer)
 RETURNS bigint
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $function$
    WITH gone AS (
        DELETE FROM documents_auditevent
        WHERE created_at < now() - make_interval(days => older_than_days)
        RETURNING 1
    )
    SELECT count(*) FROM gone
$function$;
