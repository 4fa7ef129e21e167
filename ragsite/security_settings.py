"""Settings that keep strangers out and the trace in; read by ragsite/settings.py."""

import environ


def audit_days(env: environ.Env) -> int:
    """How long audit events are kept; the database keeps them for 30 days in any case."""
    return int(env.int("AUDIT_DAYS", default=365))
