"""Calling other people's APIs: HTTP within one deadline, streaming, retries.

In: an address the operator chose, a JSON body, a deadline. Out: the response, whole or line by
line, or an error of `errors.py`. Plain Python that imports nothing of ours but itself.
Embedders, rerankers and language models import this room, never the other way round.
"""
