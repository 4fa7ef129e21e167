-- Documents of the current namespace that have any of these tags, through the index on tags.
CREATE OR REPLACE FUNCTION ragsite.documents_tagged(wanted text[])
 RETURNS TABLE(document_id uuid)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
 SET plan_cache_mode TO 'force_custom_plan'
 SET enable_seqscan TO 'off'
AS $function$
    SELECT id
    FROM documents_document
    WHERE namespace_id = ragsite.current_namespace()
      AND tags && wanted
$function$;
