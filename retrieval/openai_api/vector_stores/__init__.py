"""/v1/vector_stores: collections in OpenAI's shapes, searched with exact quotes and their
positions.

A vector store is a Collection, a file a Document. The work is done in documents/collections/ and
retrieval/search.py; this package has ids, shapes and views. May import what `retrieval.openai_api`
may.
"""
