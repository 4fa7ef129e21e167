"""How good is it? Golden queries, metrics and runs will live here, above retrieval."""
