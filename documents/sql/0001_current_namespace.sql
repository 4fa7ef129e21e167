-- The namespace of this transaction, set by ragsite.database.tenancy.namespace(); NULL outside of
-- it. Every tenant policy compares with it.
CREATE OR REPLACE FUNCTION ragsite.current_namespace()
 RETURNS uuid
 LANGUAGE sql
 STABLE PARALLEL SAFE
AS $function$
    SELECT NULLIF(current_setting('ragsite.namespace', true), '')::uuid
$function$;
