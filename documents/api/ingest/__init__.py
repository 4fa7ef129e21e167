"""POST /ingest: the request serializers, the intake of each item, and the response.

In: uploads, texts, URLs. Out: one result per item. May import what `documents.api` may.
"""
