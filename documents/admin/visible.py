"""Which namespaces an operator sees: the one place that pages without a ModelAdmin ask."""

import uuid
from typing import Any

from django.db.models import QuerySet
from django.http import HttpRequest


def visible_namespaces(request: HttpRequest) -> frozenset[uuid.UUID] | None:
    """The ids of the namespaces that this operator is limited to; None: all of them."""
    return None


def only_visible(request: HttpRequest, rows: QuerySet[Any], field: str = "namespace") -> Any:
    """Leave out rows of namespaces that the operator does not see."""
    ids = visible_namespaces(request)
    return rows if ids is None else rows.filter(**{f"{field}__in": ids})
