"""Programs that measure quality and speed, run by hand (`make bench-…`).

`ingest`, `search`, `answers`, `load` and `scale` contain the programs, `peers` the libraries to
compare with, `data` the inputs, `service` the service that is measured. Production imports nothing
of this.
"""
