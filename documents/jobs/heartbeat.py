"""Signs of life: how the supervisor tells workers that are idle from workers that are stuck."""

import os
import socket

from django.db import connection


def group(process_group: int | None = None) -> str:
    """The name of a group of processes on this host: their own, if none is given.

    The supervisor gives every worker life a process group of its own, so a name is never reused
    while anybody could mistake it.
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
    """Seconds since the group's last beat, by the database's clock; None if it never beat."""
    return _age([name])


def youngest_age() -> float | None:
    return _age(None)


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
