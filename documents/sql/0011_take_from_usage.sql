-- Statement trigger: subtract deleted documents and versions from their namespace's usage.
CREATE OR REPLACE FUNCTION ragsite.take_from_usage()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $function$
    BEGIN
        IF TG_TABLE_NAME = 'documents_document' THEN
            UPDATE documents_namespaceusage known SET documents = known.documents - gone.documents
            FROM (SELECT namespace_id, count(*) AS documents FROM changed GROUP BY 1) gone
            WHERE known.namespace_id = gone.namespace_id;
        ELSE
            UPDATE documents_namespaceusage known SET bytes = known.bytes - gone.bytes
            FROM (SELECT namespace_id, sum(byte_size) AS bytes FROM changed GROUP BY 1) gone
            WHERE known.namespace_id = gone.namespace_id;
        END IF;
        RETURN NULL;
    END
$function$;
