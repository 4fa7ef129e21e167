"""The namespaces that a user may see, for the admin and for the pages."""

import uuid
from typing import Any

from documents.models import NamespaceAccess
from ragsite.database.tenancy import operator

EVERY_NAMESPACE = "documents.see_every_namespace"  # a permission; superusers have it


def allowed_namespaces(user: Any) -> frozenset[uuid.UUID] | None:
    """Return the ids of the namespaces that the user may see; None: every namespace."""
    if not user.is_active:
        return frozenset()
    with operator():
        if user.has_perm(EVERY_NAMESPACE):
            return None
        access = NamespaceAccess.objects.filter(user_id=user.pk)
        return frozenset(access.values_list("namespace_id", flat=True))


def may_use_pages(user: Any) -> bool:
    """Whether the user may ask and open the library: staff, and users with a namespace."""
    return bool(user.is_active and (user.is_staff or allowed_namespaces(user) != frozenset()))
