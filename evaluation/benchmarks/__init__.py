"""How good and how fast it is, measured by programs that are run by hand (`make bench-…`).

`ingest`, `search` and `answers` hold the programs, `peers` what we are compared with, `data` what
is read or made for them, `service` the service they measure. Production imports nothing of this.
"""
