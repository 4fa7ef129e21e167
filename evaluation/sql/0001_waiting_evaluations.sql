-- Evaluation runs that are queued or whose worker's lease has expired, oldest first.
CREATE OR REPLACE FUNCTION ragsite.waiting_evaluations(at_most integer)
 RETURNS TABLE(run_id uuid, namespace_id uuid)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $function$
    SELECT id, namespace_id FROM evaluation_evaluationrun
    WHERE state = 'queued' OR (state = 'running' AND lease_until < now())
    ORDER BY created_at LIMIT at_most
$function$;
