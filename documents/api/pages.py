"""Cursor-paged lists, in three orders."""

from datetime import timedelta
from uuid import UUID

from django.utils.dateparse import parse_datetime
from rest_framework.exceptions import NotFound, ValidationError
from rest_framework.pagination import Cursor, CursorPagination
from rest_framework.request import Request

LARGEST_ORDINAL = 2**31 - 1
INVALID_CURSOR = (
    "This is no cursor of this list. Take it from `next` or `previous` of a page, "
    "or leave it out to begin with the first page."
)


_NOWHERE = Cursor(offset=0, reverse=False, position=None)


class Pages(CursorPagination):
    page_size = 50
    max_page_size = 200
    page_size_query_param = "limit"

    def get_page_size(self, request: Request) -> int | None:
        """DRF would answer a limit it cannot read with a page of the default size."""
        limit = request.query_params.get("limit", "")
        if limit and not (limit.isascii() and limit.isdigit() and int(limit[:20])):
            raise ValidationError(
                {"limit": f"Must be a whole number from 1 to {self.max_page_size}."}
            )
        return super().get_page_size(request)

    def decode_cursor(self, request: Request) -> Cursor | None:
        """DRF checks a cursor's form; what it points to is checked here, not by the database."""
        try:
            cursor = super().decode_cursor(request)
        except NotFound:
            raise ValidationError({"cursor": INVALID_CURSOR}) from None
        if cursor == _NOWHERE and request.query_params.get("cursor"):
            # DRF takes what says nothing at all for the first page.
            raise ValidationError({"cursor": INVALID_CURSOR})
        if cursor is not None and cursor.position is not None:
            try:
                is_place = self.is_place(str(cursor.position))
            except ValueError:
                is_place = False
            if not is_place:
                raise ValidationError({"cursor": INVALID_CURSOR})
        return cursor

    def is_place(self, position: str) -> bool:
        raise ValueError(position)


class NewestFirst(Pages):
    ordering = ("-created_at", "-id")

    def is_place(self, position: str) -> bool:
        moment = parse_datetime(position)
        # Ours are in UTC; of zones 16 hours or more away from it the database knows nothing.
        return moment is not None and moment.utcoffset() == timedelta(0)


class InTheirOrder(Pages):
    ordering = "ordinal"

    def is_place(self, position: str) -> bool:
        return 0 <= int(position) <= LARGEST_ORDINAL


class ByTheirIds(Pages):
    """For rows that are written by the thousand in one moment, in the order of their ids."""

    ordering = "id"

    def is_place(self, position: str) -> bool:
        return str(UUID(position)) == position
