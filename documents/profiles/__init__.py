"""Index profiles: the embedder and splitter of each, and its vector index.

Takes a profile's settings; returns embedders and splitters, and builds and drops vector indexes.
May import chunking, embedders, language models, metering, accounts and models.
"""
