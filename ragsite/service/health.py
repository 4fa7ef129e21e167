"""Liveness and readiness checks. They are cheap, run often, and call no provider."""

import gc
import logging
import shutil
import threading
from collections.abc import Callable

from django.conf import settings
from django.db import connection, connections
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils import timezone

from documents.jobs import heartbeat
from documents.profiles import warmup
from documents.stores import outbox, registry
from ragsite.database import roles
from ragsite.platform.backends import load_backend
from ragsite.platform.wording import plural
from retrieval import reranking

logger = logging.getLogger(__name__)

WORKER_SILENT_AFTER = 60.0
MIN_FREE_BYTES = 100 * 1024 * 1024
_embedder_state = "cold"


def warm_embedder() -> None:
    """Load the models in the background, so that the first query does not wait for them.

    Only the embedder counts for readiness: without a reranker the fused order is used.
    """

    def load() -> None:
        global _embedder_state
        try:
            load_backend("EMBEDDERS", "default").warm()
            _embedder_state = "ok"
        except Exception:
            _embedder_state = "failed"
            logger.exception("embedder.warm_failed")
        reranking.warm()
        registry.warm()
        _freeze_objects()
        warmup.keep_warm({"default"}, after=_freeze_objects)

    global _embedder_state
    _embedder_state = "warming"
    threading.Thread(target=load, name="warm-embedder", daemon=True).start()


def _freeze_objects() -> None:
    # Objects loaded by now are permanent, so the garbage collector need not scan them: a full scan
    # would delay a request.
    gc.collect()
    gc.freeze()


def livez(request: HttpRequest) -> HttpResponse:
    return JsonResponse({"status": "ok"})


def readyz(request: HttpRequest) -> HttpResponse:
    """Respond with 200 when the service can serve requests.

    A broken embedder, a silent worker or a search store that is behind is reported but does not
    stop queries: search falls back to words or to the database, and the supervisor restarts the
    worker.
    """
    checks = {
        name: _outcome(check)
        for name, check in (
            ("database", _database),
            ("migrations", _migrations),
            ("storage", _storage),
            ("worker", _worker),
        )
    }
    if stores := _outcome(_stores):
        checks["stores"] = stores
    checks["embedder"] = _embedder_state
    serving = all(checks[name] == "ok" for name in ("database", "migrations", "storage"))
    ready = serving and _embedder_state != "warming"
    body = {"status": "ready" if ready else "not ready", "checks": checks}
    return JsonResponse(body, status=200 if ready else 503)


def _outcome(check: Callable[[], str]) -> str:
    try:
        return check()
    except Exception as error:
        logger.warning("readyz.failed", extra={"check": check.__name__, "error": str(error)})
        return f"failed: {type(error).__name__}"


def _database() -> str:
    roles.require_supported(connection)
    return "ok"


def _migrations() -> str:
    # Read as the application role; nothing is written.
    executor = MigrationExecutor(connections["default"])
    plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
    return f"{len(plan)} not applied" if plan else "ok"


def _storage() -> str:
    free = shutil.disk_usage(settings.HOME).free
    return "ok" if free > MIN_FREE_BYTES else f"only {free // 2**20} MB left on disk"


def _worker() -> str:
    age = heartbeat.youngest_age()
    if age is None:
        return "no worker has reported yet"
    return "ok" if age < WORKER_SILENT_AFTER else f"silent for {age:.0f} s"


def _stores() -> str:
    """Report the backlog of search stores; "" if there are none. They are not called."""
    if missing := len(registry.missing()):
        return f"{plural(missing, 'store')} of index profiles not configured"
    if not settings.STORES:
        return ""
    waiting = outbox.backlogs()
    documents = sum(backlog.documents for backlog in waiting)
    if not documents:
        return "ok"
    age = (timezone.now() - min(backlog.since for backlog in waiting)).total_seconds()
    return f"{plural(documents, 'document')} not synced yet, the oldest for {age:.0f} s"
