"""Capacity planning: machines, memory, shards and cost for a number of documents and questions.

In: measured coefficients (`coefficients.json`, written by `make bench-scale`) and requirements.
Out: a plan. Plain Python; imports nothing of the service.
"""
