"""The service's own settings, in a home that is thrown away."""

import os
import tempfile

# Subprocesses inherit the home: they belong to the same run.
if "RAGSITE_TESTS" not in os.environ:
    os.environ["RAGSITE_TESTS"] = os.environ["RAGSITE_HOME"] = tempfile.mkdtemp(prefix="rs-")
    os.environ["ENV_FILE"] = os.devnull
    os.environ["RAGSITE_PG_FSYNC"] = "off"
    os.environ.setdefault("LOG_LEVEL", "WARNING")

from ragsite.settings import *  # noqa: F403

PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
