"""Whether this web process is shutting down, so that streams can send a last event.

http_protocol.py announces it. Under another server nothing does, and streams end when that
cuts them.
"""

import time

_began: float | None = None


def begin() -> None:
    global _began
    _began = _began or time.monotonic()


def seconds_since() -> float | None:
    """Return the seconds since the shutdown began; None if it has not."""
    return None if _began is None else time.monotonic() - _began


def reset() -> None:
    """Reset, for a server that starts again in the same process."""
    global _began
    _began = None
