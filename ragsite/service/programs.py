"""The programs that make up the service: the web server and the worker, which is kept alive."""

import os
import sys
import time
from collections.abc import Callable
from functools import wraps

from django.conf import settings
from django.db import close_old_connections
from django.utils import timezone
from django_q.models import OrmQ
from django_q.tasks import async_task

from documents.jobs import heartbeat, queue
from documents.reindex import build

from . import probe
from .supervisor import Program, Supervisor
from .worker_watch import WorkerWatch

Chore = Callable[[], None]

WORKER_ALIVE_SECONDS = 20.0  # the age of a heartbeat that still counts


def web() -> Program:
    argv = [sys.executable, "-m", "uvicorn", "ragsite.asgi:application"]
    argv += ["--host", settings.HOST, "--port", str(settings.PORT)]
    argv += ["--workers", str(settings.WEB_PROCESSES), "--timeout-graceful-shutdown", "10"]
    argv += ["--http", "ragsite.web.http_protocol:GuardedProtocol"]
    argv += ["--ws-max-size", str(settings.BODIES["max_message_bytes"])]
    # small messages only; it costs memory for each socket
    argv += ["--ws-per-message-deflate", "false"]
    # We evaluate X-Forwarded-For ourselves (TRUSTED_PROXIES); uvicorn trusts any local client.
    argv += ["--lifespan", "on"]  # run lifespan handlers; fail if one fails
    argv += ["--log-level", "warning", "--no-access-log", "--no-proxy-headers"]
    return Program("web", argv, _environment("web"), stop_seconds=15)


def worker() -> Program:
    argv = [sys.executable, str(settings.BASE_DIR / "manage.py"), "qcluster"]
    return Program("worker", argv, _environment("worker"), stop_seconds=15)


def _environment(process: str) -> dict[str, str]:
    path = os.pathsep.join(p for p in (str(settings.BASE_DIR), os.environ.get("PYTHONPATH")) if p)
    return {"RAGSITE_SUPERVISED": "1", "RAGSITE_PROCESS": process, "PYTHONPATH": path}


def with_fresh_connections(chore: Chore) -> Chore:
    """Drop connections that a database restart has broken, since the thread lives for days."""

    @wraps(chore)
    def run() -> None:
        close_old_connections()
        try:
            chore()
        finally:
            close_old_connections()

    return run


class WorkerKeeper:
    """Restarts workers that are stuck and requeues the jobs of dead ones."""

    def __init__(self, supervisor: Supervisor) -> None:
        self.supervisor = supervisor
        self.current_group = ""
        self.dead_groups: list[str] = []
        self.watch = WorkerWatch(
            request_heartbeat=_request_heartbeat,
            last_beat_age=self._last_beat_age,
            restart=lambda: supervisor.restart("worker"),
            started_seconds_ago=lambda: time.monotonic() - supervisor.started_at("worker"),
        )

    def check(self) -> None:
        self.watch.check()

    def reap(self) -> None:
        """Requeue the jobs of worker groups that have ended, without waiting for their leases to
        expire."""
        group = self._group() if self.supervisor.process_group("worker") else ""
        if self.current_group and group != self.current_group:
            self.dead_groups.append(self.current_group)
        # Process ids are reused: a group that is running is not dead.
        self.dead_groups = [name for name in self.dead_groups if name != group]
        if group and group != self.current_group:
            heartbeat.forget_ended(group)
        self.current_group = group
        queue.requeue_stalled(self.dead_groups)
        build.requeue_stalled(self.dead_groups)

    def _last_beat_age(self) -> float | None:
        age = heartbeat.age(self._group())
        if age is not None and age < WORKER_ALIVE_SECONDS:
            probe.note_worker(settings.HOME)  # for the health check of a container
        return age

    def _group(self) -> str:
        return heartbeat.group(self.supervisor.process_group("worker"))


def _request_heartbeat() -> None:
    # Any task that runs is a heartbeat; a separate one behind a long queue would be late.
    waiting = OrmQ.objects.filter(lock__lte=timezone.now()).count()
    if waiting < settings.JOB_WORKERS + 2:
        async_task("documents.tasks.send_heartbeat", save=False)
