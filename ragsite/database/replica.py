"""Reading from a replica where there is one, and from the primary when it does not answer."""

import logging
from collections.abc import Callable
from typing import TypeVar

from django.db import InterfaceError, OperationalError, connections

from ragsite.platform.breaker import Breaker

from .tenancy import reading_from
from .timeouts import is_timeout

logger = logging.getLogger(__name__)

T = TypeVar("T")

_breaker = Breaker(failures=1, pause=30.0)  # seconds in which nobody waits for it again


def read(work: Callable[[], T]) -> tuple[T, str]:
    """What the work gives, and the fallback taken ("" if none). The work must only read."""
    if "replica" not in connections:
        return work(), ""
    if not _breaker.is_open:
        try:
            with reading_from("replica"):
                result = work()
        except (OperationalError, InterfaceError) as error:
            if is_timeout(error):
                raise  # it answers; the same statement would take as long on the primary
            _breaker.failed()
            connections["replica"].close()
            logger.warning("replica.fallback", exc_info=True)
        else:
            _breaker.worked()
            return result, ""
    return work(), "primary: replica_unavailable"
