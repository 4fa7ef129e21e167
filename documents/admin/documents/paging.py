"""Pages of long lists without counting every row."""

from functools import cached_property

from django.core.paginator import Paginator

COUNTED = 10_000  # rows; of longer lists only the first ones have pages


class BoundedPaginator(Paginator):
    """Counts up to COUNTED rows. What lies beyond is reached by filters and search."""

    @cached_property
    def _found(self) -> int:
        rows = self.object_list
        ordered = getattr(rows, "order_by", None)
        return (ordered() if ordered else rows)[: COUNTED + 1].count() if ordered else len(rows)

    @cached_property
    def count(self) -> int:
        return min(self._found, COUNTED)

    @property
    def is_bounded(self) -> bool:
        return self._found > COUNTED
