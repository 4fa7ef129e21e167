"""Metrics and traces: who may read the metrics, and where spans are sent."""

import os
from pathlib import Path
from typing import Any

import environ

from ragsite.platform.private_files import make_folder

# prometheus_client reads it when it is imported: the processes of a machine share files there.
_SHARED_FOLDER = "PROMETHEUS_MULTIPROC_DIR"


def metrics_token(env: environ.Env, *, home: Path) -> str:
    """Return the token of /metrics; blank if there are no metrics."""
    token = env.str("METRICS_TOKEN", default="")
    if token:
        folder = home / "run" / "metrics"
        make_folder(folder)
        os.environ[_SHARED_FOLDER] = str(folder)
    else:
        os.environ.pop(_SHARED_FOLDER, None)
    return token


def traces(env: environ.Env) -> dict[str, Any]:
    return {
        "url": env.str("TRACES_URL", default=""),
        "headers": env.json("TRACES_HEADERS", default={}),
        "share": env.float("TRACES_SHARE", default=1.0),
    }
