"""Records in the audit log what is added, changed or deleted in the admin."""

from collections import defaultdict
from typing import Any

from django.db.models import Model
from django.http import HttpRequest

from documents.accounts import audit

from .paging import BoundedLists
from .parameters import RejectsInvalidFilters
from .titles import Titled
from .visible import LimitedToNamespaces

LISTED_IDS = 100
# What can be erased for good is not in Django's own log, which quotes rows.
UNQUOTED = ("fact", "factalias")


class Audited(LimitedToNamespaces, Titled, BoundedLists, RejectsInvalidFilters):
    """Mixed into a ModelAdmin. `audits_additions = False` where the pipeline records them."""

    model: Any
    audits_additions = True

    def log_addition(self, request: HttpRequest, obj: Model, message: Any) -> Any:
        if self.audits_additions:
            audit.record(_action(obj, "create"), namespace=_namespace(obj), target=obj)
        if obj._meta.model_name in UNQUOTED:
            return None
        return super().log_addition(request, obj, message)  # type: ignore[misc]

    def log_change(self, request: HttpRequest, obj: Model, message: Any) -> Any:
        audit.record(
            _action(obj, "change"),
            namespace=_namespace(obj),
            target=obj,
            details=_summary(message),
        )
        return super().log_change(request, obj, message)  # type: ignore[misc]

    def log_deletions(self, request: HttpRequest, queryset: Any) -> Any:
        groups: dict[Any, list[Model]] = defaultdict(list)
        for row in queryset:
            groups[_namespace(row)].append(row)
        for namespace_id, rows in groups.items():
            ids = [str(row.pk) for row in rows[:LISTED_IDS]]
            only = rows[0]
            audit.record(
                _action(only, "delete"),
                namespace=namespace_id,
                count=len(rows),
                target=only if len(rows) == 1 else None,
                details={} if len(rows) == 1 else {"ids": ids},
            )
        if self.model._meta.model_name in UNQUOTED:
            return None
        return super().log_deletions(request, queryset)  # type: ignore[misc]


def _action(obj: Model, verb: str) -> str:
    return f"{obj._meta.model_name}.{verb}"


def _namespace(obj: Model) -> Any:
    return getattr(obj, "namespace_id", None)


def _summary(message: Any) -> dict[str, Any]:
    """Summarise changed fields and counts of inline rows; Django's message would contain
    content."""
    fields: list[str] = []
    below: dict[str, int] = defaultdict(int)
    for part in message if isinstance(message, list) else []:
        for verb, what in part.items():
            if "name" in what:
                below[f"{what['name']} {verb}"] += 1
            else:
                fields += what.get("fields", [])
    return {"fields": fields, **below}
