-- The dimension of a sparse vector that stands for a lexeme: 1 to 1,000,000,000.
CREATE OR REPLACE FUNCTION ragsite.dimension(lexeme text)
 RETURNS integer
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE STRICT
AS $function$
    SELECT ((hashtextextended(lexeme, 0) & 9223372036854775807) % 1000000000)::int + 1
$function$;
