"""/v1/vector_stores: collections in OpenAI's shapes, searched with exact quotes and their places.

A vector store is a Collection, a file a Document. The work is done in documents/collections/ and
retrieval/search.py; here are ids, shapes and views. May import what `retrieval.openai_api` may.
"""
