"""Reads from the replica if there is one, and from the primary when the replica does not answer."""

import logging
from collections.abc import Callable
from typing import TypeVar

from django.db import InterfaceError, OperationalError, connections

from ragsite.platform.breaker import Breaker

from .tenancy import reading_from
from .timeouts import is_timeout

logger = logging.getLogger(__name__)

T = TypeVar("T")

_breaker = Breaker(failures=1, pause=30.0)  # seconds without another attempt


def read(work: Callable[[], T]) -> tuple[T, str]:
    """Return the result of `work`, which must only read, and the fallback taken ("" if none)."""
    if "replica" not in connections:
        return work(), ""
    if not _breaker.is_open:
        try:
            with reading_from("replica"):
                result = work()
        except (OperationalError, InterfaceError) as error:
            if is_timeout(error):
                raise  # the replica is available; the statement would take as long on the primary
            _breaker.failed()
            connections["replica"].close()
            logger.warning("replica.fallback", exc_info=True)
        else:
            _breaker.worked()
            return result, ""
    return work(), "primary: replica_unavailable"
