"""Pages of long lists without counting every row."""

from functools import cached_property
from typing import Any

from django.contrib.admin import ShowFacets
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
        # Ids alone: columns that are worked out for each row are not worked out to be counted.
        return rows.order_by().values("pk")[: COUNTED + 1].count()

    @cached_property
    def count(self) -> int:
        return min(self._found, COUNTED)

    @property
    def is_bounded(self) -> bool:
        return self._found > COUNTED


class BoundedLists:
    """Mixed into every ModelAdmin: no list counts all its rows, nor those of its filters."""

    paginator: Any = BoundedPaginator
    show_full_result_count = False
    show_facets = ShowFacets.NEVER
