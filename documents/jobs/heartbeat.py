"""Worker heartbeats: how the supervisor tells idle workers from stuck ones."""

import os
import socket

from django.db import connection


def group(process_group: int | None = None) -> str:
    """Return the name of a process group on this host, by default the caller's own.

    The supervisor starts the workers in a new process group each time, so a name is not reused
    while its heartbeat is still of interest.
    """
    return f"{socket.gethostname()}:{process_group or os.getpgrp()}"


def beat(name: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO documents_workerheartbeat (worker, beaten_at) VALUES (%s, now()) "
            "ON CONFLICT (worker) DO UPDATE SET beaten_at = excluded.beaten_at",
            [name],
        )


def age(name: str) -> float | None:
    """Return the seconds since the group's last beat, by the database's clock; None without one."""
    return _age([name])


def youngest_age() -> float | None:
    """Return the seconds since any group's last beat; None if there is none."""
    return _age(None)


def forget_ended(running: str) -> None:
    """Forget the groups of this group's host that ran before it: they are not silent, but gone."""
    host = running.rpartition(":")[0]
    with connection.cursor() as cursor:
        cursor.execute(
            "DELETE FROM documents_workerheartbeat WHERE starts_with(worker, %s) AND worker <> %s",
            [f"{host}:", running],
        )


def delete_stale() -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "DELETE FROM documents_workerheartbeat WHERE beaten_at < now() - interval '1 day'"
        )


def _age(names: list[str] | None) -> float | None:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT extract(epoch FROM now() - max(beaten_at))::float8 "
            "FROM documents_workerheartbeat WHERE %(names)s::text[] IS NULL "
            "OR worker = ANY (%(names)s)",
            {"names": names},
        )
        seconds: float | None = cursor.fetchone()[0]
    return seconds
