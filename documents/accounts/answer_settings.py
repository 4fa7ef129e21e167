"""A namespace's own answer settings: model, prompt, language and minimum relevance."""

from collections.abc import Mapping
from typing import Any

from django.db import transaction

from documents.models import Namespace

from . import audit

NAMES = ("model", "prompt", "language", "min_relevance")


def current(namespace: Namespace) -> dict[str, Any]:
    """Return the settings by name; blank or None where the installation's default applies."""
    return {name: getattr(namespace, f"answer_{name}") for name in NAMES}


def change(namespace: Namespace, changes: Mapping[str, Any]) -> None:
    """Change some of the settings, inside namespace() or operator(). Raises ValidationError.

    The audit log records which settings changed, never the prompt itself.
    """
    if not changes:
        return
    fields = {f"answer_{name}": value for name, value in changes.items()}
    for field, value in fields.items():
        setattr(namespace, field, value)
    namespace.clean_fields(exclude={f.name for f in Namespace._meta.fields if f.name not in fields})
    with transaction.atomic(using=namespace._state.db):
        namespace.save(update_fields=list(fields))
        audit.record(
            "namespace.change",
            namespace=namespace,
            target=namespace,
            details={"changed": sorted(fields)},
        )
