"""From a stored original to searchable chunks; also editing and deleting documents.

`pipeline.ingest` is the main function: extract, split, embed, store. In: a claimed job. Out: a
published version. May import all other packages of documents except reindex, the API, the admin
and the commands.
"""
