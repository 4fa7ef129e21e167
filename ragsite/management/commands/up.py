"""`manage.py up`: database, worker and web server under one supervisor. `make run` ends here."""

import shlex
import sys
import urllib.request
import uuid
from typing import Any

from django.conf import settings
from django.core.management import BaseCommand, CommandError, CommandParser, call_command
from django.db import OperationalError, connections

from documents import housekeeping
from documents.ingestion import bulk_removal
from documents.jobs import queue
from documents.models import Namespace
from documents.stores import feeding, registry
from documents.webhooks import delivering
from evaluation.learning import votes
from evaluation.runs import lifecycle
from ragsite.database.tenancy import operator
from ragsite.platform import metrics, temporary_files
from ragsite.platform.private_files import keep_private
from ragsite.service import bootstrap, metrics_server, preflight, programs
from ragsite.service.programs import Chore, WorkerKeeper, with_fresh_connections
from ragsite.service.supervisor import Supervisor
from retrieval import query_log

BANNER = """
Ragsite is running. Ctrl-C stops it.

  Ask      {url}/            sign in as the operator
  API      {url}/api/v1      docs: {url}/api/docs
  Admin    {url}/admin/      login: {login}
  Key      {key}
  Data     {home}

Try it:

curl -s {url}/api/v1/query \\
    -H "Authorization: Bearer {bearer}" \\
    -H 'Content-Type: application/json' \\
    -d '{{"query": "How long is the warranty on a lamp?", "k": 3}}'
"""


class Command(BaseCommand):
    help = (
        "Start everything: the embedded database (unless DATABASE_URL is set), migrations, the "
        "first namespace, login, key and samples, the worker and the web server. Ctrl-C stops all."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--only",
            choices=["web", "worker"],
            help="Start only the web server or only the worker; migrate and create nothing.",
        )
        parser.add_argument("--no-samples", action="store_true", help="Load no sample documents.")

    def handle(self, *args: Any, **options: Any) -> None:
        keep_private(settings.HOME)
        only = options["only"]
        parts = [p for p in (programs.web(), programs.worker()) if only in (None, p.name)]
        supervisor = Supervisor(parts, home=settings.HOME, name=only or "supervisor")
        try:
            preflight.require_disk_space()
            if other := supervisor.claim():
                raise CommandError(f"Ragsite already runs in {settings.HOME} (pid {other}).")
            if only != "worker":
                preflight.require_port()
            if only is None:
                self._prepare(with_samples=not options["no_samples"])
            preflight.require_usable_database()
            for sentence in registry.missing():
                self.stderr.write(self.style.WARNING(sentence))
        except (OperationalError, preflight.CannotStart) as error:
            raise CommandError(str(error).strip()) from None
        supervisor.every = self._chores(only, supervisor)
        if only == "worker":
            self._serve_metrics()
        code = supervisor.run()
        connections.close_all()
        sys.exit(code)

    def _serve_metrics(self) -> None:
        try:
            metrics_server.start()
        except OSError as error:
            message = f"Cannot serve /metrics at port {settings.METRICS_PORT}: {error.strerror}."
            raise CommandError(message) from None

    def _prepare(self, *, with_samples: bool) -> None:
        self.stdout.write("Preparing the database ...")
        call_command("migrate", verbosity=0)
        self.credentials: bootstrap.Credentials | None = bootstrap.ensure()
        self.sample_jobs: list[uuid.UUID] = []
        if with_samples:
            self.sample_jobs = bootstrap.load_samples(self.credentials)

    def _chores(self, only: str | None, supervisor: Supervisor) -> list[tuple[float, Chore]]:
        chores: list[tuple[float, Chore]] = []
        if settings.EMBEDDED_SERVER:
            chores.append((2, settings.EMBEDDED_SERVER.ensure_running))
        if only == "web":
            chores.append((3600, _tidy_host))
        else:
            keeper = WorkerKeeper(supervisor)
            chores += [(5, keeper.check), (5, keeper.reap), (3600, housekeeping.tidy)]
            chores += [
                (30, lifecycle.wake_for_waiting_runs),
                (30, bulk_removal.wake_workers),
                (2, feeding.wake_workers),
                (30, feeding.wake_to_check),
                (3600, query_log.delete_old_rows),
                (2, delivering.wake_workers),
                (300, votes.embed_everywhere),
            ]
        if only is None:
            chores.append((0.5, self._announce_once))
        return [(seconds, with_fresh_connections(chore)) for seconds, chore in chores]

    def _announce_once(self) -> None:
        if self.credentials is None or not _is_ready():
            return
        with operator():
            tenant = Namespace.objects.get(slug="default")
        queue.wait(tenant.pk, self.sample_jobs, seconds=120)
        bootstrap.load_starter_set(self.credentials, tenant.pk)
        shown = _secrets(self.credentials, to_a_person=self.stdout.isatty())
        self.stdout.write(BANNER.format(url=_url(), home=settings.HOME, **shown))
        self.stdout.flush()
        self.credentials = None


def _tidy_host() -> None:
    """What housekeeping does for a host, where no worker does it."""
    metrics.merge_ended()
    temporary_files.remove_left_behind()


def _secrets(credentials: bootstrap.Credentials, *, to_a_person: bool) -> dict[str, str]:
    """Return the login and key to print. Output that is not a terminal may be kept and read by
    others, so there only the path of the credentials file is printed."""
    if to_a_person:
        password = credentials.password or "(as you have set it)"
        key = bearer = credentials.api_key
    else:
        path = bootstrap.credentials_path()
        password = key = f"see {path}"
        quoted = shlex.quote(str(path))
        bearer = f'$(sed -n \'s/.*"api_key": "\\(.*\\)".*/\\1/p\' {quoted})'
    return {"login": f"{bootstrap.USERNAME} / {password}", "key": key, "bearer": bearer}


def _url() -> str:
    anywhere = settings.HOST in ("0.0.0.0", "::")  # noqa: S104
    host = "127.0.0.1" if anywhere else settings.HOST
    return f"http://{f'[{host}]' if ':' in host else host}:{settings.PORT}"


def _is_ready() -> bool:
    try:
        with urllib.request.urlopen(f"{_url()}/readyz", timeout=5) as answer:  # noqa: S310
            return bool(answer.status == 200)
    except OSError:  # every urllib error is one
        return False
