-- Count one request in a sliding window and say whether it fits the limit; one that does not fit is
-- not counted. `previous` and `current` are the counts of the last and this window.
CREATE OR REPLACE FUNCTION ragsite.count_request(
    wanted text,
    request_limit integer,
    seconds double precision
)
 RETURNS TABLE(is_allowed boolean, previous integer, current integer, elapsed double precision)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $function$
    #variable_conflict use_column
    DECLARE
        windows float8 := extract(epoch FROM clock_timestamp()) / seconds;
        this_window bigint := floor(windows);
        counted documents_requestcount;
        fits boolean;
    BEGIN
        INSERT INTO documents_requestcount AS known
            (bucket, time_window, previous, current, expires_at)
        VALUES (wanted, this_window, 0, 1,
                clock_timestamp() + make_interval(secs => 2 * seconds))
        ON CONFLICT (bucket) DO UPDATE SET
            previous = CASE
                WHEN known.time_window - this_window IN (0, 1) THEN known.previous
                WHEN known.time_window = this_window - 1 THEN known.current
                ELSE 0 END,
            current = CASE
                WHEN known.time_window - this_window IN (0, 1) THEN known.current + 1
                ELSE 1 END,
            time_window = CASE
                WHEN known.time_window = this_window + 1 THEN known.time_window
                ELSE this_window END,
            expires_at = excluded.expires_at
        RETURNING * INTO counted;
        fits := counted.previous * (1 - (windows - this_window)) + counted.current
                <= request_limit;
        IF NOT fits THEN
            UPDATE documents_requestcount AS known SET current = known.current - 1
            WHERE known.bucket = wanted;
            counted.current := counted.current - 1;
        END IF;
        RETURN QUERY
        SELECT fits, counted.previous, counted.current, windows - this_window;
    END
$function$;
