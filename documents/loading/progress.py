"""How far a load is and how long the rest will take: a bar, or a line now and then in a log."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tqdm import tqdm

LINE_SECONDS = 15.0


@contextmanager
def loading_progress(total: int, *, is_quiet: bool) -> Iterator[Callable[[int, int], None]]:
    """Yield what is called with the files that are done, and their chunks."""
    if sys.stderr.isatty():
        with tqdm(desc="loading", total=total, unit="file") as bar:

            def show(files: int, chunks: int) -> None:
                bar.set_postfix(chunks=chunks, refresh=False)
                bar.update(files - bar.n)

            yield show
        return
    started = shown_at = time.monotonic()

    def write(files: int, chunks: int) -> None:
        nonlocal shown_at
        now = time.monotonic()
        if is_quiet or (now - shown_at < LINE_SECONDS and files < total):
            return
        shown_at = now
        rate = files / max(now - started, 0.001)
        left = (total - files) / max(rate, 0.001)
        sys.stderr.write(
            f"loaded {files:,} of {total:,} files, {chunks:,} chunks; "
            f"{rate:.0f} files/s, {left:.0f} s left\n"
        )

    yield write
