"""Which namespaces a user may see: the one place that the admin and the pages for people ask."""

import uuid
from typing import Any

from documents.models import NamespaceAccess
from ragsite.database.tenancy import operator


def allowed_namespaces(user: Any) -> frozenset[uuid.UUID] | None:
    """Return the ids of the namespaces that the user was given; None: every namespace."""
    if not user.is_active:
        return frozenset()
    if user.is_superuser:
        return None
    with operator():
        access = NamespaceAccess.objects.filter(user_id=user.pk)
        ids = set(access.values_list("namespace_id", flat=True))
    if None in ids:
        return None
    return frozenset(pk for pk in ids if pk)


def may_use_pages(user: Any) -> bool:
    """Whether the user may ask and open the library: staff, and whoever was given a namespace."""
    return bool(user.is_active and (user.is_staff or allowed_namespaces(user) != frozenset()))
