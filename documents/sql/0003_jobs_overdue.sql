-- How many jobs have been due for longer than so many seconds, counted up to a limit: each gets one
-- more wake-up (documents.jobs.queue).
CREATE OR REPLACE FUNCTION ragsite.jobs_overdue(seconds double precision, at_most integer)
 RETURNS bigint
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $function$
    SELECT count(*) FROM (
        SELECT FROM documents_ingestjob
        WHERE state = 'queued' AND run_after < now() - make_interval(secs => seconds)
        LIMIT at_most
    ) overdue
$function$;
