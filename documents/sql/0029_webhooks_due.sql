-- Deliveries to send now: at most four of an endpoint, so that no receiver holds up another, less
-- those that are under way. Endpoints that are disabled or pause are left out. Read by
-- documents.webhooks.delivering.
CREATE OR REPLACE FUNCTION ragsite.webhooks_due(at_once integer)
 RETURNS TABLE(delivery_id uuid, namespace_id uuid)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $function$
    SELECT due.id, endpoint.namespace_id
    FROM documents_webhookendpoint endpoint
    CROSS JOIN LATERAL (
        SELECT id, run_after, row_number() OVER (ORDER BY run_after) AS place
        FROM documents_webhookdelivery
        WHERE endpoint_id = endpoint.id AND state = 'pending' AND run_after <= now()
          AND (lease_until IS NULL OR lease_until < now())
        ORDER BY run_after LIMIT 4
    ) due
    WHERE endpoint.status = 'enabled'
      AND (endpoint.paused_until IS NULL OR endpoint.paused_until <= now())
    ORDER BY due.place, due.run_after
    LIMIT greatest(0, at_once - (
        SELECT count(*) FROM documents_webhookdelivery WHERE lease_until >= now()
    ))
$function$;
