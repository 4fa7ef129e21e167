"""The date in a document's own metadata."""

from datetime import UTC, datetime
from typing import Any

from django.utils.dateparse import parse_date, parse_datetime


def date_in(metadata: dict[str, Any]) -> datetime | None:
    """Return the date in the metadata, e.g. from front matter; None if there is no valid one."""
    text = str(metadata.get("date", ""))
    try:
        moment = parse_datetime(text)
        if moment is None and (day := parse_date(text)):
            moment = datetime(day.year, day.month, day.day)
        if moment is None:
            return None
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        return None  # well formed, but not a day of the calendar
