"""Timeouts of statements, lock waits and idle transactions, and how to recognise them.

Connections set the timeouts themselves (ragsite/settings/limits.py).
"""

import logging

from django.conf import settings
from django.db import ProgrammingError
from django.db.backends.utils import CursorWrapper
from psycopg import errors, sql

from ragsite.database.isolation import role
from ragsite.settings.limits import timeout_parameters

logger = logging.getLogger(__name__)

_TIMEOUTS = (
    errors.QueryCanceled,
    errors.LockNotAvailable,
    errors.IdleInTransactionSessionTimeout,
)


def is_timeout(error: BaseException | None) -> bool:
    """Whether an error, Django's or psycopg's, is a database timeout."""
    return isinstance(error, _TIMEOUTS) or (
        error is not None and isinstance(error.__cause__, _TIMEOUTS)
    )


def set_role_timeouts(cursor: CursorWrapper) -> None:
    """Set default timeouts on the roles, for connections that set none: through a pooler or psql.

    The application role gets those of the web, which are the shortest. Roles that we may not change
    are left alone.
    """
    cursor.execute("SELECT current_database()")
    (database,) = cursor.fetchone()
    for kind, timeouts in (("app", "web"), ("operator", "operator")):
        for parameter, value in timeout_parameters(settings.DATABASE_TIMEOUTS[timeouts]).items():
            statement = sql.SQL("ALTER ROLE {} IN DATABASE {} SET {} = {}").format(
                sql.Identifier(role(kind)),
                sql.Identifier(database),
                sql.Identifier(parameter),
                sql.Literal(value),
            )
            try:
                cursor.execute(statement)
            except ProgrammingError as error:
                if not isinstance(error.__cause__, errors.InsufficientPrivilege):
                    raise
                logger.warning("database.timeouts_not_set", extra={"role": role(kind)})
                break
