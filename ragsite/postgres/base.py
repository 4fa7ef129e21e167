"""Django's PostgreSQL engine, which sees to it that the embedded server runs before it connects."""

from typing import Any

from django.conf import settings
from django.db.backends.postgresql import base
from django.db.utils import OperationalError

from ragsite.embedded import EmbeddedServerError


class DatabaseWrapper(base.DatabaseWrapper):
    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        if settings.EMBEDDED_SERVER is not None:
            try:
                settings.EMBEDDED_SERVER.ensure_running()
            except EmbeddedServerError as error:  # so that callers see a database that is away
                raise OperationalError(str(error)) from error
        return super().get_new_connection(conn_params)
