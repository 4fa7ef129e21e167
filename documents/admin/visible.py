"""Restrict ModelAdmins to the rows that an operator sees (documents/accounts/visibility.py)."""

from typing import Any

from django.contrib.admin import RelatedFieldListFilter
from django.core.exceptions import FieldDoesNotExist
from django.db.models import ForeignKey, QuerySet
from django.http import HttpRequest

from documents.accounts.visibility import (
    allowed_to,
    condition,
    namespace_path,
    only_visible,
    visible_namespaces,
)
from documents.models import Namespace

__all__ = ["LimitedFields", "LimitedToNamespaces", "only_visible", "visible_namespaces"]


class VisibleRelatedFilter(RelatedFieldListFilter):
    """A filter by a related row that offers visible rows only."""

    def field_choices(self, field: Any, request: HttpRequest, model_admin: Any) -> Any:
        return field.get_choices(
            include_blank=False,
            ordering=self.field_admin_ordering(field, request, model_admin),
            limit_choices_to=condition(request, field.remote_field.model),
        )


class LimitedFields:
    """Mixed into a ModelAdmin or an inline: foreign keys offer visible rows only."""

    def formfield_for_foreignkey(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        related = db_field.remote_field.model
        if "queryset" not in kwargs:
            rows = related._default_manager.all()
            kwargs["queryset"] = only_visible(request, rows)
        if related is Namespace and allowed_to(request) is not None:
            kwargs["required"] = True  # blank would mean all namespaces
        return super().formfield_for_foreignkey(db_field, request, **kwargs)  # type: ignore[misc]


class LimitedToNamespaces(LimitedFields):
    """Mixed into every ModelAdmin, left of Django's own classes."""

    model: Any

    @property
    def is_of_namespaces(self) -> bool:
        """Whether the chosen namespace restricts the list."""
        return bool(namespace_path(self.model))

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        rows = only_visible(request, super().get_queryset(request))  # type: ignore[misc]
        return rows

    def get_list_filter(self, request: HttpRequest) -> list[Any]:
        filters = super().get_list_filter(request)  # type: ignore[misc]
        return [(one, VisibleRelatedFilter) if self._is_relation(one) else one for one in filters]

    def _is_relation(self, name: Any) -> bool:
        if not isinstance(name, str):
            return False
        try:
            return isinstance(self.model._meta.get_field(name), ForeignKey)
        except FieldDoesNotExist:
            return False

    def has_module_permission(self, request: HttpRequest) -> bool:
        return self._is_open(request) and super().has_module_permission(request)  # type: ignore[misc]

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self._is_open(request) and super().has_view_permission(request, obj)  # type: ignore[misc]

    def has_add_permission(self, request: HttpRequest, *args: Any) -> bool:
        is_limited = allowed_to(request) is not None
        if is_limited and (self.model is Namespace or not self._is_open(request)):
            return False  # an operator cannot add a namespace that they would not see
        return super().has_add_permission(request)  # type: ignore[misc]

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self._is_open(request) and super().has_change_permission(request, obj)  # type: ignore[misc]

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self._is_open(request) and super().has_delete_permission(request, obj)  # type: ignore[misc]

    def _is_open(self, request: HttpRequest) -> bool:
        """Rows of the whole installation are hidden from operators who are limited to some
        namespaces."""
        return bool(namespace_path(self.model)) or allowed_to(request) is None
