-- One value for (namespace, profile), so that a GIN index finds a tenant's words under one profile.
CREATE OR REPLACE FUNCTION ragsite.place(namespace_id uuid, profile_id uuid)
 RETURNS uuid[]
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE STRICT
AS $function$
    SELECT ARRAY[md5(namespace_id::text || profile_id::text)::uuid]
$function$;
