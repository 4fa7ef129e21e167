"""How APIs of others are called: in goes a JSON body and a deadline, out comes the provider's JSON
(or its stream, line by line) or a ProviderFailed. `http_api` makes the call, `deadline` leaves work
that cannot be interrupted, `rate_limit` spaces the calls of all workers, `usage` books what
embedding took and stops it at the caps. `http_api` and `deadline` are plain Python and import only
each other and documents/providers/deadline_streams.py; the other two write rows. Embedders, rerankers and language
models import this room, never the other way round (but for `usage`, which wraps an embedder).
"""
