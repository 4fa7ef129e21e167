"""Load the embedding models in use before the first query needs them."""

import logging
import time
from collections.abc import Callable

from django.db import close_old_connections, connection

from .profiles import load_embedder

logger = logging.getLogger(__name__)

POLL_SECONDS = 10.0


def embedders_in_use() -> set[str]:
    """Return the aliases that a namespace uses for searches, or may use after a switch or
    rollback."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT embedder FROM ragsite.embedders_in_use()")
        return {row[0] for row in cursor.fetchall()}


def warm(known: set[str]) -> set[str]:
    """Load the models in use that are not in `known`; return those loaded. Failures are logged."""
    loaded = set()
    for alias in embedders_in_use() - known:
        try:
            load_embedder(alias).warm()
        except Exception:  # a search will report it
            logger.warning("embedder.warm_failed", extra={"embedder": alias}, exc_info=True)
        else:
            loaded.add(alias)
    return loaded


def keep_warm(known: set[str], *, after: Callable[[], None]) -> None:
    """Load new models forever, in a thread of the web process; call `after` when one was loaded. A
    reindex uses a new model long before its switch."""
    while True:
        close_old_connections()
        try:
            if loaded := warm(known):
                known |= loaded
                after()
        except Exception:  # the database may be down: try again
            logger.warning("embedder.look_failed", exc_info=True)
        close_old_connections()
        time.sleep(POLL_SECONDS)
