"""Cursor-paged lists, in three orders."""

import re
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.utils.dateparse import parse_datetime
from rest_framework.exceptions import NotFound, ValidationError
from rest_framework.pagination import Cursor, CursorPagination
from rest_framework.request import Request

from ragsite.web.openapi import ANY_TEXT

MAX_ORDINAL = 2**31 - 1
INVALID_CURSOR = (
    "This cursor is not valid for this list. Take it from `next` or `previous` of a page, "
    "or omit it for the first page."
)
_EMPTY_CURSOR = Cursor(offset=0, reverse=False, position=None)
_WHOLE_NUMBER = re.compile(r"0*[1-9][0-9]*")


def _invalid_cursor() -> ValidationError:
    return ValidationError({"cursor": INVALID_CURSOR})


class Pages(CursorPagination):
    page_size = 50
    max_page_size = 200
    page_size_query_param = "limit"

    def get_page_size(self, request: Request) -> int:
        """Reject an invalid limit, where DRF would use the default."""
        asked = request.query_params.get("limit")
        if asked is None:
            return self.page_size
        if not _WHOLE_NUMBER.fullmatch(asked):
            raise ValidationError({"limit": f"A whole number from 1 to {self.max_page_size}."})
        digits = asked.lstrip("0")
        # A larger limit is capped, not rejected: `next` leads to the rest.
        return min(int(digits[:9]), self.max_page_size)

    def get_schema_operation_parameters(self, view: Any) -> list[dict[str, Any]]:
        limit = {"type": "integer", "minimum": 1, "default": self.page_size}
        cursor = {"type": "string", "pattern": ANY_TEXT}
        return [
            {
                "name": "limit",
                "in": "query",
                "required": False,
                "description": f"Results per page; larger numbers count as {self.max_page_size}.",
                "schema": limit,
            },
            {
                "name": "cursor",
                "in": "query",
                "required": False,
                "description": "The cursor from `next` or `previous` of a page.",
                "schema": cursor,
            },
        ]

    def decode_cursor(self, request: Request) -> Cursor | None:
        """Check the position, too: DRF checks only the form, and the database would fail."""
        try:
            cursor = super().decode_cursor(request)
        except NotFound:
            raise _invalid_cursor() from None
        if cursor == _EMPTY_CURSOR and request.query_params.get("cursor"):
            # DRF treats an empty cursor as the first page.
            raise _invalid_cursor()
        if cursor is not None and cursor.position is not None:
            try:
                is_valid_position = self.is_valid_position(str(cursor.position))
            except ValueError:
                is_valid_position = False
            if not is_valid_position:
                raise _invalid_cursor()
        return cursor

    def is_valid_position(self, position: str) -> bool:
        raise ValueError(position)


def _is_moment(position: str) -> bool:
    moment = parse_datetime(position)
    # Our cursors are in UTC; PostgreSQL rejects offsets of 16 hours or more.
    return moment is not None and moment.utcoffset() == timedelta(0)


class NewestFirst(Pages):
    ordering = ("-created_at", "-id")

    def is_valid_position(self, position: str) -> bool:
        return _is_moment(position)


class ByDate(Pages):
    """In chronological order."""

    ordering = ("at", "number", "id")

    def is_valid_position(self, position: str) -> bool:
        return _is_moment(position)


class ByOrdinal(Pages):
    ordering = "ordinal"

    def is_valid_position(self, position: str) -> bool:
        return 0 <= int(position) <= MAX_ORDINAL


class ById(Pages):
    """For rows that are written by the thousand at the same time: ordered by id."""

    ordering = "id"

    def is_valid_position(self, position: str) -> bool:
        return str(UUID(position)) == position
