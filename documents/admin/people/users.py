"""Users, groups, and the namespaces of each user. Only superusers can grant permissions."""

from typing import Any

from django.contrib import admin
from django.contrib.auth.admin import GroupAdmin, UserAdmin
from django.contrib.auth.models import Group, User
from django.http import HttpRequest

from documents.models import NamespaceAccess

from ..audited import Audited
from ..titles import NamedCells
from ..visible import LimitedFields

# Fields with which users could otherwise grant themselves more rights.
RIGHTS = ("is_staff", "is_superuser", "groups", "user_permissions")

CHOOSER = ("admin_kit/chooser.js",)

admin.site.unregister([User, Group])


class OfSuperusers:
    """Mixed into a ModelAdmin or an inline: only superusers can change anything."""

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return _is_superuser(request)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return _is_superuser(request)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return _is_superuser(request)


class NamespaceAccessInline(OfSuperusers, LimitedFields, NamedCells, admin.TabularInline):
    model = NamespaceAccess
    fields = ("namespace",)
    extra = 1
    verbose_name = "namespace this user sees"
    verbose_name_plural = (
        "namespaces this user sees: in the admin if they are staff, and on the pages that ask and "
        "list documents. Superusers, and users with the permission to see every namespace, see all."
    )

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return True  # for everyone who may see the user


@admin.register(User)
class AuditedUserAdmin(Audited, UserAdmin):
    list_display = ("username", "email", "is_active", "is_staff", "is_superuser", "sees")
    inlines = (NamespaceAccessInline,)

    class Media:
        js = CHOOSER

    def get_queryset(self, request: HttpRequest) -> Any:
        users = super().get_queryset(request)
        return users.prefetch_related("namespace_access__namespace", "user_permissions")

    @admin.display(description="sees")
    def sees(self, user: User) -> str:
        if user.is_superuser or any(
            permission.codename == "see_every_namespace"
            for permission in user.user_permissions.all()
        ):
            return "every namespace"
        given = user.namespace_access.all()
        return ", ".join(sorted(str(access) for access in given)) or "nothing"

    def get_inlines(self, request: HttpRequest, obj: Any = None) -> Any:
        return self.inlines if obj else ()  # Django's form for a new user has only the password

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        fields = tuple(super().get_readonly_fields(request, obj))
        return fields if _is_superuser(request) else (*fields, *RIGHTS)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        if obj is not None and obj.is_superuser and not _is_superuser(request):
            return False  # otherwise they could set the superuser's password
        return super().has_change_permission(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        if obj is not None and obj.is_superuser and not _is_superuser(request):
            return False
        return super().has_delete_permission(request, obj)


@admin.register(Group)
class AuditedGroupAdmin(OfSuperusers, Audited, GroupAdmin):
    class Media:
        js = CHOOSER


def _is_superuser(request: HttpRequest) -> bool:
    return bool(getattr(request.user, "is_superuser", False))
