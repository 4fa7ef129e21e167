"""Wiring only: settings, urls, tenancy, the embedded database, the supervisor."""

import os

# Before numpy is loaded: for matrices as small as a search's its threads only wait for each other,
# on a busy machine for hundreds of milliseconds.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
