"""Pages of long lists without counting every row."""

from functools import cached_property
from typing import Any

from django.contrib.admin import ShowFacets
from django.core.paginator import Paginator
from django.db.models import QuerySet

COUNTED = 10_000  # maximum number of rows that are counted and paged


class BoundedPaginator(Paginator):
    """Counts up to COUNTED rows. Rows beyond that are reached by filters and search."""

    @cached_property
    def _found(self) -> int:
        rows: Any = self.object_list
        if not isinstance(rows, QuerySet):
            return len(rows)
        # Ids only, so that computed columns are not computed for counting.
        return rows.order_by().values("pk")[: COUNTED + 1].count()

    @cached_property
    def count(self) -> int:
        return min(self._found, COUNTED)

    @property
    def is_bounded(self) -> bool:
        return self._found > COUNTED


class BoundedLists:
    """Mixed into every ModelAdmin, so that no list counts all its rows, nor those of its
    filters."""

    paginator: Any = BoundedPaginator
    show_full_result_count = False
    show_facets = ShowFacets.NEVER
