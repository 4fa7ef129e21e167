"""Programs that measure ingestion: extraction, chunking, embedding, reindexing; the fuzzer."""
