"""The cost of calls to providers, per namespace and month, and their rate limits.

In: tokens that were used. Out: rows of usage, and errors when a cap is reached. May import
embedders, language models and models; writes to the database.
"""
