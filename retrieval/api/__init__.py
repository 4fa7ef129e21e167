"""The REST API of queries, answers, tools and reindexing: thin doors."""
