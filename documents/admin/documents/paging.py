"""Pages of long lists without counting every row."""

from functools import cached_property
from typing import Any

from django.core.paginator import Paginator
from django.db.models import QuerySet

COUNTED = 10_000  # rows; of longer lists only the first ones have pages


class BoundedPaginator(Paginator):
    """Counts up to COUNTED rows. What lies beyond is reached by filters and search."""

    @cached_property
    def _found(self) -> int:
        rows: Any = self.object_list
        if not isinstance(rows, QuerySet):
            return len(rows)
        return rows.order_by()[: COUNTED + 1].count()

    @cached_property
    def count(self) -> int:
        return min(self._found, COUNTED)

    @property
    def is_bounded(self) -> bool:
        return self._found > COUNTED
