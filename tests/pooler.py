"""PgBouncer before the tests' database, in transaction mode, with few connections to it."""

import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import psycopg

from ragsite.postgres.account import CLEAN_ENV, Account

MIN_VERSION = (1, 21)  # the first that keeps prepared statements in transaction mode
PORT = 6432  # of a socket in a folder of its own
CONNECTIONS = 2

CONFIGURATION = """
[databases]
ragsite = host={sockets} port=5432 dbname=ragsite
[pgbouncer]
listen_addr =
listen_port = {port}
unix_socket_dir = {folder}
unix_socket_mode = 0777
auth_type = trust
auth_file = {folder}/users
pool_mode = transaction
default_pool_size = {connections}
max_prepared_statements = 200
admin_users = pooler
logfile = {folder}/log
"""


@cache
def why_not() -> str:
    """Why no PgBouncer can be used here; "" if one can."""
    program = binary()
    if not program:
        return "no PgBouncer: install one, or name it in PGBOUNCER_BINARY"
    said = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
    version = re.search(r"PgBouncer (\d+)\.(\d+)", said.stdout)
    if version is None or tuple(map(int, version.groups())) < MIN_VERSION:
        return f"{program} is older than PgBouncer 1.21: {said.stdout.splitlines()[:1]}"
    return ""


def binary() -> str:
    return os.environ.get("PGBOUNCER_BINARY", "") or shutil.which("pgbouncer") or ""


@contextmanager
def pooler_before(sockets: Path, account: Account, *users: str) -> Iterator[Path]:
    """Yields the folder of its socket."""
    folder = Path(tempfile.mkdtemp(prefix="rs-pooler-"))
    try:
        (folder / "users").write_text("".join(f'"{user}" ""\n' for user in (*users, "pooler")))
        values = {"sockets": sockets, "folder": folder, "port": PORT, "connections": CONNECTIONS}
        (folder / "ini").write_text(CONFIGURATION.format(**values))
        account.own(folder)
        folder.chmod(0o711)
        account = account.with_access_to(binary(), folder, sockets)
        process = subprocess.Popen(
            [binary(), "--quiet", str(folder / "ini")],
            cwd="/",
            env=CLEAN_ENV,
            preexec_fn=account.become,
        )
        try:
            _wait_until_it_answers(folder, process)
            yield folder
        finally:
            process.kill()
            process.wait()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def shown(folder: Path, what: str) -> list[dict[str, object]]:
    """The rows of SHOW …, of PgBouncer's own console."""
    where = {"host": str(folder), "port": PORT, "user": "pooler", "dbname": "pgbouncer"}
    with psycopg.connect(
        **where,  # type: ignore[arg-type]
        autocommit=True,
        cursor_factory=psycopg.ClientCursor,
        row_factory=psycopg.rows.dict_row,
    ) as console:
        return console.execute(f"SHOW {what}").fetchall()  # type: ignore[call-overload,no-any-return]


def _wait_until_it_answers(folder: Path, process: "subprocess.Popen[bytes]") -> None:
    deadline = time.monotonic() + 60
    while True:
        try:
            shown(folder, "VERSION")
        except psycopg.OperationalError:
            assert process.poll() is None, (folder / "log").read_text()
            assert time.monotonic() < deadline
            time.sleep(0.05)
        else:
            return
