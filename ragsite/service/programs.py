"""The programs that make up the service, and how the worker among them is kept alive."""

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

from .supervisor import Program, Supervisor
from .worker_watch import WorkerWatch

Chore = Callable[[], None]


def web() -> Program:
    argv = [sys.executable, "-m", "uvicorn", "ragsite.asgi:application"]
    argv += ["--host", settings.HOST, "--port", str(settings.PORT)]
    argv += ["--workers", str(settings.WEB_PROCESSES), "--timeout-graceful-shutdown", "10"]
    argv += ["--http", "ragsite.web.http_protocol:GuardedProtocol"]
    argv += ["--ws-max-size", str(settings.BODIES["max_message_bytes"])]
    argv += ["--ws-per-message-deflate", "false"]  # small messages; it costs memory for each socket
    # X-Forwarded-For is ours to judge (TRUSTED_PROXIES): uvicorn would believe any local client.
    argv += ["--log-level", "warning", "--no-access-log", "--no-proxy-headers"]
    return Program("web", argv, _environment("web"), stop_seconds=15)


def worker() -> Program:
    argv = [sys.executable, str(settings.BASE_DIR / "manage.py"), "qcluster"]
    return Program("worker", argv, _environment("worker"), stop_seconds=15)


def _environment(process: str) -> dict[str, str]:
    path = os.pathsep.join(p for p in (str(settings.BASE_DIR), os.environ.get("PYTHONPATH")) if p)
    return {"RAGSITE_SUPERVISED": "1", "RAGSITE_PROCESS": process, "PYTHONPATH": path}


def with_fresh_connections(chore: Chore) -> Chore:
    """A thread that lives for days drops connections that a database restart has broken."""

    @wraps(chore)
    def run() -> None:
        close_old_connections()
        try:
            chore()
        finally:
            close_old_connections()

    return run


class WorkerKeeper:
    """Restarts workers that are stuck, and gives the jobs of dead ones to the living."""

    def __init__(self, supervisor: Supervisor) -> None:
        self.supervisor = supervisor
        self.living = ""
        self.buried: list[str] = []
        self.watch = WorkerWatch(
            ring=_ask_for_sign_of_life,
            last_beat_age=lambda: heartbeat.age(self._group()),
            restart=lambda: supervisor.restart("worker"),
            started_seconds_ago=lambda: time.monotonic() - supervisor.started_at("worker"),
        )

    def check(self) -> None:
        self.watch.check()

    def reap(self) -> None:
        """Jobs of a worker life that is over need not wait for their lease to run out."""
        group = self._group() if self.supervisor.process_group("worker") else ""
        if self.living and group != self.living:
            self.buried.append(self.living)
        # The system gives numbers out again: a life that begins is not among the dead.
        self.buried = [name for name in self.buried if name != group]
        self.living = group
        queue.requeue_stalled(self.buried)
        build.requeue_stalled(self.buried)

    def _group(self) -> str:
        return heartbeat.group(self.supervisor.process_group("worker"))


def _ask_for_sign_of_life() -> None:
    # Any bell answered is a sign of life; one more behind a long queue would only come late.
    waiting = OrmQ.objects.filter(lock__lte=timezone.now()).count()
    if waiting < settings.JOB_WORKERS + 2:
        async_task("documents.tasks.send_heartbeat", save=False)
