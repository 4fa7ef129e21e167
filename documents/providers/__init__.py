"""Calls to external APIs: HTTP within one deadline, streaming, retries.

Takes an address chosen by the operator, a JSON body and a deadline; returns the response, whole or
line by line, or raises an error of `errors.py`. Plain Python that imports nothing else of ours.
Embedders, rerankers and language models import this package, never the other way round.
"""
