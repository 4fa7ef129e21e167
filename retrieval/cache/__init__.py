"""Search results and query vectors, kept for a while and computed once for many callers.

In: a key and a function that computes its value. Out: the value, and whether it was kept. Stands on
Django's caches; imports the values it keeps (retrieval.requests) and no other room of retrieval.
"""
