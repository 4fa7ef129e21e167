"""Format counts, sizes and times for people."""

from datetime import datetime, timedelta

JUST_NOW = 45  # seconds
DAYS_SHOWN = 30  # older moments are shown as dates

_UNITS = (("day", 86_400), ("hour", 3_600), ("minute", 60))
_SIZES = ("kB", "MB", "GB", "TB")


def plural(count: int, noun: str) -> str:
    """Return the count with its noun: `1 document`, `2 documents`, `1,200 queries`, `3
    reindexes`."""
    return f"1 {noun}" if count == 1 else f"{count:,} {plural_noun(noun)}"


def plural_noun(noun: str) -> str:
    """Return `queries` for `query`, `reindexes` for `reindex`."""
    if noun.endswith("y") and noun[-2] not in "aeiou":
        return f"{noun[:-1]}ies"
    return f"{noun}{'es' if noun.endswith('x') else 's'}"


def words_of(code: str) -> str:
    """Return a code or slug as words: `Encrypted pdf` for `encrypted_pdf`."""
    return code.replace("_", " ").capitalize()


def file_size(count: int) -> str:
    """Return a number of bytes as `312 bytes`, `1.2 kB` or `48 MB`; 1 kB is 1,000 bytes."""
    if count < 1000:
        return plural(count, "byte")
    size = float(count)
    for unit in _SIZES:
        size /= 1000
        if size < 999.5 or unit == _SIZES[-1]:
            break
    return f"{size:.1f} {unit}" if size < 9.95 else f"{size:,.0f} {unit}"


def duration(seconds: float) -> str:
    """Return `120 ms`, `4.2 s`, `3 min 5 s`, `2 h 10 min` or `3 days 4 h`."""
    if seconds < 0.9995:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min" + (f" {whole % 60} s" if whole % 60 else "")
    if whole < 86_400:
        return f"{whole // 3600} h" + (f" {minutes} min" if (minutes := whole % 3600 // 60) else "")
    hours = whole % 86_400 // 3600
    return plural(whole // 86_400, "day") + (f" {hours} h" if hours else "")


def relative_time(moment: datetime, now: datetime) -> str:
    """Return `just now`, `5 minutes ago`, `in 2 hours`, or a date if it is further away."""
    seconds = abs((now - moment).total_seconds())
    if seconds < JUST_NOW:
        return "just now"
    if seconds >= timedelta(days=DAYS_SHOWN).total_seconds():
        return f"{moment.day} {moment:%b %Y}"
    for unit, length in _UNITS:
        count = round(seconds / length)
        if count >= 1 and (seconds >= length * 0.95 or unit == "minute"):
            break
    return f"in {plural(count, unit)}" if moment > now else f"{plural(count, unit)} ago"


def exact_time(moment: datetime) -> str:
    """Return `17 Nov 2026, 09:05:00 UTC`; the time must have a time zone."""
    return f"{moment.day} {moment:%b %Y, %H:%M:%S %Z}"
