"""Index profiles: which embedder and chunker serve one, and the vector index it owns.

In: a profile's settings. Out: embedders, splitters, indexes made and dropped.
"""
