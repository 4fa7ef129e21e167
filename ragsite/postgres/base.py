"""Django's PostgreSQL engine; starts the embedded server before it connects."""

import select
from typing import Any

import psycopg
from django.conf import settings
from django.db.backends.postgresql import base, operations
from django.db.backends.utils import CursorWrapper
from django.db.utils import OperationalError
from psycopg import errors
from psycopg.pq import ConnStatus, ExecStatus, Format

from ragsite.postgres.embedded import EmbeddedServerError


class DatabaseOperations(operations.DatabaseOperations):
    def last_executed_query(self, cursor: Any, sql: str, params: Any) -> str:
        """Return the SQL as written for prepared statements, of which only the name is sent."""
        return super().last_executed_query(cursor, sql, params) or sql


ServerBindingCursor: Any = base.ServerBindingCursor


class _UnpreparedCursor(ServerBindingCursor):
    def execute(self, query: Any, params: Any = None, **options: Any) -> Any:
        return super().execute(query, params, **{**options, "prepare": False})


class DatabaseWrapper(base.DatabaseWrapper):
    ops_class = DatabaseOperations

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        while True:
            self._ensure_server_runs()
            connection = super().get_new_connection(conn_params)
            if self.pool is None or _is_alive(connection):
                return connection
            connection.close()
            self.pool.putconn(connection)  # the pool replaces it

    def _ensure_server_runs(self) -> None:
        if settings.EMBEDDED_SERVER is None or self._has_idle_connection():
            return
        try:
            settings.EMBEDDED_SERVER.ensure_running()
        except EmbeddedServerError as error:  # so that callers see an unavailable database
            raise OperationalError(str(error)) from error

    def _has_idle_connection(self) -> bool:
        return self.pool is not None and self.pool.get_stats()["pool_available"] > 0

    def begin(self, statement: str) -> None:
        """Begin the transaction that Django has opened, with its first statement, in one round
        trip: psycopg would send BEGIN by itself before that."""
        self.close_if_health_check_failed()
        self.ensure_connection()
        with self.wrap_database_errors:
            result = self.connection.pgconn.exec_(f"BEGIN; {statement}".encode())
            if result.status != ExecStatus.TUPLES_OK:
                if self.connection.pgconn.status == ConnStatus.BAD:
                    raise psycopg.OperationalError("The connection to the server is lost.")
                raise errors.error_from_result(result)

    def prepared_cursor(self) -> CursorWrapper:
        """Return a cursor whose statements the server prepares, so that they are planned once.

        For lookups by key. Other statements may need another plan for other parameters.
        """
        self.close_if_health_check_failed()
        self.ensure_connection()
        with self.wrap_database_errors:
            cursor = ServerBindingCursor(self.connection)
        return self._binary(cursor)

    def binary_cursor(self) -> CursorWrapper:
        """Return a cursor whose statements are planned for their parameters, like others, but whose
        results need not be read as text: for ids and vectors."""
        self.close_if_health_check_failed()
        self.ensure_connection()
        with self.wrap_database_errors:
            cursor = _UnpreparedCursor(self.connection)
        return self._binary(cursor)

    def _binary(self, cursor: Any) -> CursorWrapper:
        cursor.format = Format.BINARY
        return self.make_debug_cursor(cursor) if self.queries_logged else self.make_cursor(cursor)


def _is_alive(connection: Any) -> bool:
    """Check a connection without a round trip to the server.

    A server that closes a connection leaves something to read; without that it is alive.
    """
    poll = select.poll()
    try:
        poll.register(connection.fileno(), select.POLLIN)
        if poll.poll(0):
            connection.execute("")
    except psycopg.OperationalError:
        return False
    return True
