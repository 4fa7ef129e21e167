"""Uploads on their way: a process that is killed leaves its files in RAGSITE_HOME/tmp."""

import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from django.conf import settings

MAX_AGE_SECONDS = 24 * 3600  # no request takes as long


def left_behind() -> Iterator[Path]:
    """Yield the files that are too old to belong to a request."""
    oldest = time.time() - MAX_AGE_SECONDS
    for path in Path(settings.FILE_UPLOAD_TEMP_DIR).rglob("*"):
        with suppress(OSError):
            if path.is_file() and path.stat().st_mtime < oldest:
                yield path


def remove_left_behind() -> int:
    """Delete them; return how many."""
    removed = 0
    for path in list(left_behind()):
        with suppress(OSError):
            path.unlink()
            removed += 1
    return removed
