-- The ingest jobs to try next, fairly between namespaces: at most four per namespace, first those
-- of the namespace with the fewest running jobs, then of the one that started a job longest ago,
-- then the job that has been due longest. Read by documents.jobs.queue.claim().
CREATE OR REPLACE FUNCTION ragsite.next_jobs(at_most integer)
 RETURNS TABLE(job_id uuid, namespace_id uuid)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $function$
    SELECT job.id, tenant.id
    FROM documents_namespace tenant
    CROSS JOIN LATERAL (
        SELECT id, run_after FROM documents_ingestjob
        WHERE namespace_id = tenant.id AND state = 'queued' AND run_after <= now()
        ORDER BY run_after LIMIT 4
    ) job
    ORDER BY
        (SELECT count(*) FROM documents_ingestjob
         WHERE namespace_id = tenant.id AND state = 'running'),
        (SELECT max(started_at) FROM documents_ingestjob
         WHERE namespace_id = tenant.id) NULLS FIRST,
        job.run_after
    LIMIT at_most
$function$;
