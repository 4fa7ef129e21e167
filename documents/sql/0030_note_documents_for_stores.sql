-- Statement trigger on memberships in collections, row trigger on documents: note documents whose
-- tags, metadata or the like have changed, for every store outside that holds chunks of them.
CREATE OR REPLACE FUNCTION ragsite.note_documents_for_stores()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $function$
    DECLARE
        touched uuid[];
    BEGIN
        IF TG_TABLE_NAME = 'documents_document' THEN
            touched := ARRAY[NEW.id];
        ELSE
            touched := ARRAY(SELECT DISTINCT document_id FROM changed);
        END IF;
        IF NOT EXISTS (SELECT FROM documents_indexprofile WHERE store <> 'pgvector') THEN
            RETURN NULL;
        END IF;
        INSERT INTO documents_storechange AS known (namespace_id, profile_id, document_id)
        SELECT DISTINCT chunk.namespace_id, chunk.profile_id, chunk.document_id
        FROM documents_chunk chunk
        JOIN documents_indexprofile profile
          ON profile.id = chunk.profile_id AND profile.store <> 'pgvector'
        WHERE chunk.document_id = ANY (touched)
        ORDER BY 1, 2, 3
        ON CONFLICT (namespace_id, profile_id, document_id)
        DO UPDATE SET changes = known.changes + 1;
        RETURN NULL;
    END
$function$;
