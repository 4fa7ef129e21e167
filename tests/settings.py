"""The service's own settings, in a home that is thrown away."""

import os
import tempfile

# Subprocesses inherit the home: they belong to the same run. Those that run tests (pytest -n) do
# not: each has a home, and with it a database server, of its own.
worker = os.environ.get("PYTEST_XDIST_WORKER", "")
if os.environ.get("RAGSITE_TESTS_OF") != worker:
    os.environ["RAGSITE_TESTS_OF"] = worker
    os.environ["RAGSITE_TESTS"] = os.environ["RAGSITE_HOME"] = tempfile.mkdtemp(prefix="rs-")
    os.environ["ENV_FILE"] = os.devnull
    os.environ["RAGSITE_PG_FSYNC"] = "off"
    os.environ.setdefault("LOG_LEVEL", "WARNING")

from ragsite.settings import *  # noqa: E402, F403

PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
