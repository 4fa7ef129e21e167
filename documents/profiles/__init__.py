"""Index profiles: the embedder and splitter of each, and its vector index.

In: a profile's settings. Out: embedders, splitters, and vector indexes built and dropped. May
import chunking, embedders, metering, accounts and models.
"""
