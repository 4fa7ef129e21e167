"""Settings that keep strangers out and the trace in; read by ragsite/settings.py."""

import environ


def audit_days(env: environ.Env) -> int:
    """How long audit events are kept; the database keeps them for 30 days in any case."""
    return int(env.int("AUDIT_DAYS", default=365))


def login_throttle(env: environ.Env) -> dict[str, int]:
    """See documents/login_throttle.py."""
    return {
        "failures": env.int("LOGIN_FAILURES", default=5),
        "failures_per_user": env.int("LOGIN_FAILURES_PER_USER", default=50),
        "failures_per_address": env.int("LOGIN_FAILURES_PER_ADDRESS", default=30),
        "lock_seconds": env.int("LOGIN_LOCK_SECONDS", default=60),
        "lock_max_seconds": env.int("LOGIN_LOCK_MAX_SECONDS", default=3600),
    }
