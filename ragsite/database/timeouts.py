"""How long statements, waits for locks and idle transactions may take, and how to tell that one
took too long. Connections carry the timeouts themselves (ragsite/settings/limits.py)."""

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
    """Django's error, or psycopg's own that it stands for."""
    return isinstance(error, _TIMEOUTS) or (
        error is not None and isinstance(error.__cause__, _TIMEOUTS)
    )


def give_to_roles(cursor: CursorWrapper) -> None:
    """Let the roles have timeouts by themselves, for every connection that brings none: through a
    pooler, or by psql. The application role gets those of the web, which are the shortest. Roles
    that somebody else has made, and we may not change, keep what they have."""
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
