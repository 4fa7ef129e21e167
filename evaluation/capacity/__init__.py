"""What so many documents and questions need: machines, memory, shards and money.

In: measured coefficients (`coefficients.json`, which `make bench-scale` writes) and what is wanted.
Out: a plan. Plain Python; imports nothing of the service.
"""
