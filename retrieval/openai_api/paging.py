"""Lists as OpenAI pages them: limit, order, after and before."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.db.models import Model, Q, QuerySet
from drf_spectacular.utils import OpenApiParameter
from rest_framework.request import Request

from .views import check_query_parameters, invalid_parameter

DEFAULT_LIMIT, MAX_LIMIT = 20, 100
_NAMES = frozenset({"limit", "order", "after", "before"})


def page_parameters(
    default: int = DEFAULT_LIMIT, maximum: int = MAX_LIMIT
) -> list[OpenApiParameter]:
    limit = {"type": "integer", "minimum": 1, "maximum": maximum, "default": default}
    return [
        OpenApiParameter("limit", limit),
        OpenApiParameter(
            "order", str, enum=["asc", "desc"], default="desc", description="By creation time."
        ),
        OpenApiParameter("after", str, description="An id; the page begins after it."),
        OpenApiParameter("before", str, description="An id; the page ends before it."),
    ]


@dataclass(frozen=True, slots=True)
class IdPage:
    rows: list[Any]
    has_more: bool


def page_of(
    rows: QuerySet[Any],
    request: Request,
    *,
    find: Callable[[str, str], Model],
    filters: frozenset[str] = frozenset(),
    default: int = DEFAULT_LIMIT,
    maximum: int = MAX_LIMIT,
) -> IdPage:
    """Return one page, ordered by (created_at, id), so that no page skips or repeats a row.

    `find` takes an id and the name of its parameter, and returns the row. `filters` are the
    list's own query parameters. Inside namespace(). Raises ApiError.
    """
    check_query_parameters(request, _NAMES | filters)
    limit, ascending = _limit(request, default, maximum), _is_ascending(request)
    after, before = request.query_params.get("after"), request.query_params.get("before")
    if after:
        rows = rows.filter(_beyond(find(after, "after"), later=ascending))
    if before:
        rows = rows.filter(_beyond(find(before, "before"), later=not ascending))
    # The page before an id ends directly before it, so it is read backwards.
    backwards = bool(before) and not after
    order = ("created_at", "id") if ascending is not backwards else ("-created_at", "-id")
    found = list(rows.order_by(*order)[: limit + 1])
    page = found[:limit]
    return IdPage(page[::-1] if backwards else page, len(found) > limit)


def listed(page: IdPage, shown: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "object": "list",
        "data": shown,
        "first_id": shown[0]["id"] if shown else None,
        "last_id": shown[-1]["id"] if shown else None,
        "has_more": page.has_more,
    }


def _beyond(row: Any, *, later: bool) -> Q:
    way = "gt" if later else "lt"
    same = Q(**{"created_at": row.created_at, f"id__{way}": row.pk})
    return Q(**{f"created_at__{way}": row.created_at}) | same


def _limit(request: Request, default: int, maximum: int) -> int:
    asked = request.query_params.get("limit", str(default))
    if not (re.fullmatch("[0-9]{1,9}", asked) and 1 <= int(asked) <= maximum):
        raise invalid_parameter("limit", f"limit is a whole number from 1 to {maximum:,}.")
    return int(asked)


def _is_ascending(request: Request) -> bool:
    order = request.query_params.get("order", "desc")
    if order not in ("asc", "desc"):
        raise invalid_parameter("order", "order is asc or desc.")
    return order == "asc"
