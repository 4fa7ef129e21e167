"""Programs that measure the way in: reading files, chunking, embedding, reindexing; the fuzzer."""
