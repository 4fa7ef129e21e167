"""Find candidates: the dense and the lexical leg, under the same filters, scored by both.

Takes a SearchContext (the parsed query, the request with its filters, the index) and returns
candidates with both scores. Reads the database inside namespace(). May import documents, ragsite
and retrieval's values and cache; never ranking, context or search.
"""
