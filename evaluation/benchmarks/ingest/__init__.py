"""Programs that measure ingestion: extraction, chunking, embedding, reindexing; the fuzzer.

In: folders of data. Out: tables of figures. May import everything; nothing imports it.
"""
