"""Django's PostgreSQL engine, which sees to it that the embedded server runs before it connects."""

import select
from typing import Any

import psycopg
from django.conf import settings
from django.db.backends.postgresql import base, operations
from django.db.backends.utils import CursorWrapper
from django.db.utils import OperationalError
from psycopg.pq import Format

from ragsite.postgres.embedded import EmbeddedServerError


class DatabaseOperations(operations.DatabaseOperations):
    def last_executed_query(self, cursor: Any, sql: str, params: Any) -> str:
        """Of a statement that is prepared nothing but its name is sent: tell what was written."""
        return super().last_executed_query(cursor, sql, params) or sql


class DatabaseWrapper(base.DatabaseWrapper):
    ops_class = DatabaseOperations

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        while True:
            self._see_that_the_server_runs()
            connection = super().get_new_connection(conn_params)
            if self.pool is None or _is_alive(connection):
                return connection
            connection.close()
            self.pool.putconn(connection)  # which makes another one in its place

    def _see_that_the_server_runs(self) -> None:
        if settings.EMBEDDED_SERVER is None or self._has_idle_connection():
            return
        try:
            settings.EMBEDDED_SERVER.ensure_running()
        except EmbeddedServerError as error:  # so that callers see a database that is away
            raise OperationalError(str(error)) from error

    def _has_idle_connection(self) -> bool:
        return self.pool is not None and self.pool.get_stats()["pool_available"] > 0

    def prepared_cursor(self) -> CursorWrapper:
        """Sends parameters apart from the statement, which the server then plans once and keeps.

        For statements that look rows up by their keys: others may deserve another plan each time.
        """
        self.close_if_health_check_failed()
        self.ensure_connection()
        of_psycopg: Any = base.ServerBindingCursor
        with self.wrap_database_errors:
            cursor = of_psycopg(self.connection)
            cursor.format = Format.BINARY  # so that ids and vectors need not be read as text
        return self.make_debug_cursor(cursor) if self.queries_logged else self.make_cursor(cursor)


def _is_alive(connection: Any) -> bool:
    """Without a trip to the server, which every request would make: one that hangs up says so, and
    who has nothing to say is there."""
    heard = select.poll()
    try:
        heard.register(connection.fileno(), select.POLLIN)
        if heard.poll(0):
            connection.execute("")
    except psycopg.OperationalError:
        return False
    return True
