"""Format page numbers for warnings."""

from collections.abc import Sequence

MAX_LISTED_PAGES = 20


def counted(numbers: Sequence[int]) -> str:
    listed = ", ".join(map(str, numbers[:MAX_LISTED_PAGES]))
    more = f" and {len(numbers) - MAX_LISTED_PAGES} more" if len(numbers) > MAX_LISTED_PAGES else ""
    return f"Page {listed}" if len(numbers) == 1 else f"Pages {listed}{more}"
