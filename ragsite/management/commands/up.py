"""`manage.py up`: database, worker and web server under one supervisor. `make run` ends here."""

import os
import shutil
import socket
import sys
import time
import urllib.request
import uuid
from typing import Any
from urllib.error import HTTPError, URLError

from django.conf import settings
from django.core.management import BaseCommand, CommandError, CommandParser, call_command
from django.db import OperationalError, connection, connections
from django.utils import timezone
from django_q.models import OrmQ
from django_q.tasks import async_task

from documents import heartbeat, housekeeping, jobs
from documents.models import Namespace
from ragsite import bootstrap, roles
from ragsite.supervisor import Program, Supervisor
from ragsite.tenancy import operator
from ragsite.worker_watch import WorkerWatch

NEEDED_BYTES = 300 * 1024 * 1024
CURL = """curl -s {url}/api/v1/query \\
    -H 'Authorization: Bearer {key}' \\
    -H 'Content-Type: application/json' \\
    -d '{{"query": "How long is the warranty on a lamp?", "k": 3}}'"""


class Command(BaseCommand):
    help = (
        "Start everything: the embedded database (unless DATABASE_URL is set), migrations, the "
        "first namespace, login, key and samples, the worker and the web server. Ctrl-C stops all."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--only",
            choices=["web", "worker"],
            help="Start just one of the two; migrate and create nothing.",
        )
        parser.add_argument("--no-samples", action="store_true", help="Load no sample documents.")

    def handle(self, *args: Any, **options: Any) -> None:
        only = options["only"]
        self._require_room()
        if only != "worker":
            self._require_port()
        programs = [p for p in (_web(), _worker()) if only in (None, p.name)]
        self.supervisor = Supervisor(programs, home=settings.HOME)
        if other := self.supervisor.claim():
            raise CommandError(
                f"Ragsite is already running with RAGSITE_HOME={settings.HOME} (pid {other})."
            )
        try:
            self._prepare(only, with_samples=not options["no_samples"])
        except (OperationalError, roles.UnsuitableDatabase) as error:
            raise CommandError(str(error).strip()) from None
        self.supervisor.every = self._chores(only)
        code = self.supervisor.run()
        for each in connections.all(initialized_only=True):
            each.close()
        sys.exit(code)

    # -- before anything starts ----------------------------------------------------

    def _require_room(self) -> None:
        settings.HOME.mkdir(parents=True, exist_ok=True)
        free = shutil.disk_usage(settings.HOME).free
        if free < NEEDED_BYTES:
            raise CommandError(
                f"The disk is full: {free // 2**20} MB are left for {settings.HOME}, and at least "
                f"{NEEDED_BYTES // 2**20} MB are needed. Free some, or set RAGSITE_HOME elsewhere."
            )

    def _require_port(self) -> None:
        family = socket.AF_INET6 if ":" in settings.HOST else socket.AF_INET
        with socket.socket(family) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((settings.HOST, settings.PORT))
            except OSError as error:
                raise CommandError(
                    f"Cannot listen on {settings.HOST}:{settings.PORT} ({error.strerror}). "
                    f"Choose another port: PORT={settings.PORT + 1} make run"
                ) from None

    def _prepare(self, only: str | None, *, with_samples: bool) -> None:
        self.sample_jobs: list[uuid.UUID] = []
        if only is None:
            self.stdout.write("Preparing the database ...")
            call_command("migrate", verbosity=0)
            self.credentials = bootstrap.ensure()
            if with_samples:
                self.sample_jobs = bootstrap.load_samples(self.credentials)
        roles.require_supported(connection)
        for alias in ("default", "operator"):
            roles.require_fenced(alias)

    # -- while it runs ---------------------------------------------------------------

    def _chores(self, only: str | None) -> list[tuple[float, Any]]:
        chores: list[tuple[float, Any]] = []
        if only != "web":
            self.buried: list[str] = []
            self.group = ""
            watch = WorkerWatch(
                ring=_ask_for_sign_of_life,
                last_beat_age=lambda: heartbeat.age(self._worker_group()),
                restart=lambda: self.supervisor.restart("worker"),
                started_seconds_ago=lambda: (
                    time.monotonic() - self.supervisor.started_at("worker")
                ),
            )
            chores += [(5, watch.check), (5, self._reap), (3600, housekeeping.tidy)]
        if only is None:
            chores.append((0.5, self._announce_once))
        return chores

    def _worker_group(self) -> str:
        return heartbeat.group(self.supervisor.process_group("worker"))

    def _reap(self) -> None:
        """Jobs of a worker life that is over need not wait for their lease to run out."""
        group = self._worker_group()
        if self.group and group != self.group:
            self.buried.append(self.group)
        self.group = group
        jobs.reap(self.buried)

    def _announce_once(self) -> None:
        if self.credentials is None or not _is_ready():
            return
        with operator():
            tenant = Namespace.objects.get(slug="default")
        jobs.wait(tenant.pk, self.sample_jobs, seconds=120)
        self.stdout.write(_banner(self.credentials))
        self.stdout.flush()
        self.credentials = None


def _url() -> str:
    host = "127.0.0.1" if settings.HOST in ("0.0.0.0", "::") else settings.HOST
    return f"http://{f'[{host}]' if ':' in host else host}:{settings.PORT}"


def _is_ready() -> bool:
    try:
        with urllib.request.urlopen(f"{_url()}/readyz", timeout=5) as answer:
            return bool(answer.status == 200)
    except (HTTPError, URLError, OSError):
        return False


def _banner(credentials: bootstrap.Credentials) -> str:
    url = _url()
    password = credentials.password or "(as you have set it)"
    return f"""
Ragsite is running. Ctrl-C stops it.

  API      {url}/api/v1      docs: {url}/api/docs
  Admin    {url}/admin/      login: {bootstrap.USERNAME} / {password}
  Key      {credentials.api_key}
  Data     {settings.HOME}

Try it:

{CURL.format(url=url, key=credentials.api_key)}
"""


def _web() -> Program:
    argv = [sys.executable, "-m", "uvicorn", "ragsite.asgi:application"]
    argv += ["--host", settings.HOST, "--port", str(settings.PORT)]
    argv += ["--workers", str(settings.WEB_PROCESSES), "--timeout-graceful-shutdown", "10"]
    argv += ["--log-level", "warning", "--no-access-log"]
    return Program("web", argv, _environment("web"), stop_seconds=15)


def _worker() -> Program:
    argv = [sys.executable, str(settings.BASE_DIR / "manage.py"), "qcluster"]
    return Program("worker", argv, _environment("worker"), stop_seconds=15)


def _environment(process: str) -> dict[str, str]:
    path = os.pathsep.join(p for p in (str(settings.BASE_DIR), os.environ.get("PYTHONPATH")) if p)
    return {"RAGSITE_SUPERVISED": "1", "RAGSITE_PROCESS": process, "PYTHONPATH": path}


def _ask_for_sign_of_life() -> None:
    # Any bell answered is a sign of life; one more behind a long queue would only come late.
    waiting = OrmQ.objects.filter(lock__lte=timezone.now()).count()
    if waiting < settings.JOB_WORKERS + 2:
        async_task("documents.tasks.show_sign_of_life", save=False)
