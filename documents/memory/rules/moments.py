"""Moments as people write them."""

from datetime import UTC, datetime


def moment_in(written: str) -> datetime:
    """Read a date or a time in ISO 8601. A date alone is its beginning; without a zone it is UTC.

    Raises ValueError or OverflowError.
    """
    moment = datetime.fromisoformat(written)
    # In UTC, because the database takes no zone that is 16 hours or more away from it.
    return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)


def moment_or_now(written: str) -> datetime:
    """Read a moment to look at: as `moment_in` does, or `now`."""
    return datetime.now(UTC) if written == "now" else moment_in(written)
