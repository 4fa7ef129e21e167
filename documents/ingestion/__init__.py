"""From a stored original to searchable chunks, and changes to what is stored.

`pipeline.ingest` is the one function: extract, split, embed, store. In: a claimed job. Out: a
published version. May import every room of documents below it; nothing in documents imports it but
jobs.drain, tasks and the doors.
"""
