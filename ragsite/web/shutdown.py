"""Whether this web process has been asked to stop, so that streams can end with a last word.

The server's own protocol announces it (http_protocol.py); under another server nobody does, and
streams are cut when the server cuts them.
"""

import time

_began: float | None = None


def begin() -> None:
    global _began
    _began = _began or time.monotonic()


def seconds_since() -> float | None:
    """Since the process was asked to stop; None if it was not."""
    return None if _began is None else time.monotonic() - _began


def reset() -> None:
    """For a server that starts again in the same process."""
    global _began
    _began = None
