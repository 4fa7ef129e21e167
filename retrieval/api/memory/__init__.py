"""Memory over the API: searching facts, operations on one, erasure, rules and aliases.

In: requests. Out: facts and receipts. May import what `retrieval.api` may.
"""
