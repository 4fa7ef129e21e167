"""Models that are or will soon be asked, loaded before the first question needs them."""

import logging
import time
from collections.abc import Callable

from django.db import close_old_connections, connection

from .profiles import load_embedder

logger = logging.getLogger(__name__)

POLL_SECONDS = 10.0


def embedders_in_use() -> set[str]:
    """The aliases that any namespace searches with, or will after a switch or a rollback."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT embedder FROM ragsite.embedders_in_use()")
        return {row[0] for row in cursor.fetchall()}


def warm(known: set[str]) -> set[str]:
    """Load what is in use and not yet known; what was loaded. One that fails is tried again."""
    loaded = set()
    for alias in embedders_in_use() - known:
        try:
            load_embedder(alias).warm()
        except Exception:  # the search will say so itself
            logger.warning("embedder.warm_failed", extra={"embedder": alias}, exc_info=True)
        else:
            loaded.add(alias)
    return loaded


def keep_warm(known: set[str], *, after: Callable[[], None]) -> None:
    """For ever, in a thread of the web process: a reindex brings a new model long before its
    switch. `after` is called when something was loaded."""
    while True:
        close_old_connections()
        try:
            if loaded := warm(known):
                known |= loaded
                after()
        except Exception:  # the database is away: it will be back
            logger.warning("embedder.look_failed", exc_info=True)
        close_old_connections()
        time.sleep(POLL_SECONDS)
