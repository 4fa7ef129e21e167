"""The namespace's revision: whatever changes what a search finds or shows raises it."""

import uuid

from django.db.models import F

from documents.models import Namespace


def content_changed(namespace_id: uuid.UUID) -> None:
    """Outdate every cached result of the namespace. Inside namespace()."""
    Namespace.objects.filter(pk=namespace_id).update(revision=F("revision") + 1)
