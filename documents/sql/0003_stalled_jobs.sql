-- Running jobs whose lease has expired or whose worker group is known to be dead. Read by
-- documents.jobs.queue.requeue_stalled().
CREATE OR REPLACE FUNCTION ragsite.stalled_jobs(dead_workers text[])
 RETURNS TABLE(job_id uuid, namespace_id uuid)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $function$
    SELECT id, namespace_id FROM documents_ingestjob
    WHERE state = 'running' AND (lease_until < now() OR worker = ANY (dead_workers))
$function$;
