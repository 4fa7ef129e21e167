-- Statement trigger: add new documents and versions to their namespace's usage.
CREATE OR REPLACE FUNCTION ragsite.add_to_usage()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $function$
    BEGIN
        IF TG_TABLE_NAME = 'documents_document' THEN
            INSERT INTO documents_namespaceusage AS known (namespace_id, documents, bytes)
            SELECT namespace_id, count(*), 0 FROM changed
            GROUP BY namespace_id ORDER BY namespace_id
            ON CONFLICT (namespace_id) DO UPDATE
            SET documents = known.documents + excluded.documents;
        ELSE
            INSERT INTO documents_namespaceusage AS known (namespace_id, documents, bytes)
            SELECT namespace_id, 0, sum(byte_size) FROM changed
            GROUP BY namespace_id ORDER BY namespace_id
            ON CONFLICT (namespace_id) DO UPDATE SET bytes = known.bytes + excluded.bytes;
        END IF;
        RETURN NULL;
    END
$function$;
