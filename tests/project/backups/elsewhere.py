"""Another installation, and what is compared between two."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from django.conf import settings as django_settings
from django.core.management import call_command
from django.db import connections

from documents.models import Namespace

from ...client import Api
from ..service import ROOT

QUESTIONS = ("harbour lights", "who keeps the log", "kiln degrees")
NOTES = "# Harbour\n\nThe harbour has twelve lights.\n\n# Log\n\nThe master keeps the log in ink."


class Elsewhere:
    """Another installation: its own home, database server and secrets."""

    def __init__(self, home: Path, **extra: str) -> None:
        self.home = home
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("RAGSITE", "DJANGO"))}
        own = {"RAGSITE_HOME": str(home), "RAGSITE_PG_FSYNC": "off", "ENV_FILE": os.devnull}
        self.environment = {**kept, **own, **extra}

    def manage(self, *arguments: object) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "manage.py", *map(str, arguments)],
            cwd=ROOT,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )

    def answers(self, tenant: Namespace) -> list[Any]:
        where = ("--namespace", tenant.slug, "--json")
        found = [self.manage("search", question, *where) for question in QUESTIONS]
        assert all(done.returncode == 0 for done in found), found
        return [essence(json.loads(done.stdout)) for done in found]


def essence(answer: dict[str, Any]) -> list[Any]:
    """What of an answer does not depend on the moment."""
    kept = ("chunk_id", "document_id", "content", "start", "end", "score", "relevance")
    return [{name: hit[name] for name in kept if name in hit} for hit in answer["results"]]


def answers_here(api: Api) -> list[Any]:
    return [essence(api.query(question, k=5).body) for question in QUESTIONS]


def restore_here(saved: Path) -> None:
    """Restore over this database."""
    disconnect_others()
    call_command("restore", str(saved), "--replace")


def disconnect_others() -> None:
    """End the connections of threads that have helped with searches."""
    with connections["owner"].cursor() as cursor:
        cursor.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE usename IN ('ragsite_app', 'ragsite_operator')"
        )


def stored(tenant: Namespace) -> set[str]:
    root = django_settings.HOME / "storage"
    folder = root / "uploads" / str(tenant.pk)
    return {str(path.relative_to(root)) for path in folder.rglob("*") if path.is_file()}
