"""How warnings speak of pages."""

from collections.abc import Sequence

LONGEST_LIST = 20


def counted(numbers: Sequence[int]) -> str:
    listed = ", ".join(map(str, numbers[:LONGEST_LIST]))
    more = f" and {len(numbers) - LONGEST_LIST} more" if len(numbers) > LONGEST_LIST else ""
    return f"Page {listed}" if len(numbers) == 1 else f"Pages {listed}{more}"
