-- The BM25 weights of a chunk's lexemes (k1 = 1.2, b = 0.75) without IDF, as a sparse vector.
-- Lexemes of title and section (A) count twice; added spellings (C) do not lengthen the chunk.
CREATE OR REPLACE FUNCTION ragsite.impacts(words tsvector, average_length double precision)
 RETURNS sparsevec
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE STRICT
AS $function$
    WITH term AS (
        SELECT ragsite.dimension(lexeme) AS dimension,
               cardinality(positions) + cardinality(array_positions(weights, 'A')) AS times,
               cardinality(array_positions(weights, 'C')) AS extras
        FROM unnest(words)
    ), whole AS (
        SELECT 1.2 * (0.25 + 0.75 * sum(times - extras) / average_length) AS saturation FROM term
    ), impact AS (
        SELECT dimension, (sum(times) * 2.2 / (sum(times) + saturation))::real AS impact
        FROM term, whole GROUP BY dimension, saturation
    )
    SELECT ('{' || coalesce(string_agg(dimension || ':' || impact, ','), '') || '}/1000000000')
           ::sparsevec
    FROM impact
$function$;
