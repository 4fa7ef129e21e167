"""Changing what a document is called by: tags and metadata, seen by filters at once."""

import uuid
from typing import Any

from django.db.models import F
from django.db.models.functions import Now

from ragsite.tenancy import namespace

from . import audit
from .metadata import date_in
from .models import Document, Namespace


def amend(namespace_id: uuid.UUID, document_id: uuid.UUID, changes: dict[str, Any]) -> Document:
    """Replace tags or metadata; nothing is indexed again. Raises Document.DoesNotExist.

    From then on they are exactly this, whatever the file says of itself, until somebody uploads a
    version together with other ones.
    """
    with namespace(namespace_id):
        document = Document.objects.select_for_update().get(pk=document_id)
        for name, value in changes.items():
            setattr(document, name, value)
        document.dated_at = date_in(document.metadata) or document.created_at
        fixed = sorted({*document.given.get("fixed", ()), *changes})
        document.given = {**document.given, **changes, "fixed": fixed}
        document.updated_at = Now()
        document.save(update_fields=["tags", "metadata", "dated_at", "given", "updated_at"])
        Namespace.objects.filter(pk=namespace_id).update(revision=F("revision") + 1)
        audit.record("document.change", target=document, details={"fields": sorted(changes)})
        return Document.objects.get(pk=document_id)
