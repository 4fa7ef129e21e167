"""The cost of calls to providers, per namespace and month, and their rate limits.

Takes the tokens used, stores rows of usage, and raises errors when a cap is reached. May import
embedders, language models and models; writes to the database.
"""
