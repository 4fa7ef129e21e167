"""The library: a namespace's documents for people who are signed in.

A page of them, with search and filters, and thin doors to intake, editing and removal. May import
the shapes of documents.api.
"""
