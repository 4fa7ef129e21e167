-- Statement trigger on chunks: note whose chunks were added or deleted, if their profile's store is
-- outside of this database. As definer, because a tenant may not see a profile that it has left.
CREATE OR REPLACE FUNCTION ragsite.note_chunks_for_stores()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $function$
    BEGIN
        INSERT INTO documents_storechange AS known (namespace_id, profile_id, document_id)
        SELECT DISTINCT changed.namespace_id, changed.profile_id, changed.document_id
        FROM changed
        JOIN documents_indexprofile profile
          ON profile.id = changed.profile_id AND profile.store <> 'pgvector'
        ORDER BY 1, 2, 3
        ON CONFLICT (namespace_id, profile_id, document_id)
        DO UPDATE SET changes = known.changes + 1;
        RETURN NULL;
    END
$function$;
