"""The namespace's revision, which is increased by every change of what a search finds or shows."""

import uuid

from django.db.models import F

from documents.models import Namespace


def content_changed(namespace_id: uuid.UUID) -> None:
    """Invalidate all cached results of the namespace. Inside namespace()."""
    Namespace.objects.filter(pk=namespace_id).update(revision=F("revision") + 1)
