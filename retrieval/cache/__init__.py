"""Caches of search results and query vectors, computed once for concurrent callers.

Takes a key and a function that computes its value; returns the value, and whether it was cached.
Uses Django's caches; imports the cached values (retrieval.requests) and no other package of
retrieval.
"""
