"""Admin classes for rows that only the service writes."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest

from .audited import Audited


class ReadOnly:
    """Mixed into a ModelAdmin or an inline: nothing can be added or changed by hand."""

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


class ReadOnlyAdmin(Audited, ReadOnly, admin.ModelAdmin):
    """Actions with `permissions=["operate"]` need the model's change permission."""

    def has_operate_permission(self, request: HttpRequest) -> bool:
        meta = self.model._meta
        return request.user.has_perm(f"{meta.app_label}.change_{meta.model_name}")
