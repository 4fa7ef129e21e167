"""Quotas of a namespace: documents, bytes of originals, searchable chunks."""

import uuid
from dataclasses import dataclass

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import transaction

from documents.errors import QuotaExceeded
from documents.models import Namespace

from . import audit

NAMES = ("documents", "bytes", "chunks")


@dataclass(frozen=True, slots=True)
class QuotaUsage:
    used: int
    quota: int | None  # None: no quota

    def exceeds(self, more: int) -> bool:
        return self.quota is not None and self.used + more > self.quota


def usage_of(namespace_id: uuid.UUID) -> dict[str, QuotaUsage]:
    """Return usage and quota by name. Inside namespace() or operator()."""
    row = Namespace.objects.values(
        "max_documents",
        "max_bytes",
        "max_chunks",
        "usage__documents",
        "usage__bytes",
        "chunk_count",
    ).get(pk=namespace_id)
    figures = {
        "documents": (row["usage__documents"] or 0, row["max_documents"]),
        "bytes": (row["usage__bytes"] or 0, row["max_bytes"]),
        "chunks": (row["chunk_count"], row["max_chunks"]),
    }
    return {name: QuotaUsage(used, _quota(name, own)) for name, (used, own) in figures.items()}


def _quota(name: str, override: int | None) -> int | None:
    return (settings.QUOTAS[name] if override is None else override) or None


def require_room(namespace_id: uuid.UUID, **requested: int) -> None:
    """Raise QuotaExceeded if adding these (documents=, bytes=, chunks=) would exceed a quota.

    An early check that reserves nothing; it avoids work that would be refused in the end. Inside
    namespace().
    """
    usage = usage_of(namespace_id)
    for name, more in requested.items():
        if more > 0 and usage[name].exceeds(more):
            raise _exceeded(name, usage[name].quota, used=usage[name].used, asked=more)


def require_not_exceeded(namespace_id: uuid.UUID, **added: int) -> None:
    """Raise QuotaExceeded if this transaction has exceeded a quota.

    Adding locks the namespace's counts until the transaction ends, so that concurrent writers
    cannot exceed the quota together.
    """
    usage = usage_of(namespace_id)
    for name, more in added.items():
        if more > 0 and usage[name].exceeds(0):
            raise _exceeded(name, usage[name].quota, used=usage[name].used - more, asked=more)


def _exceeded(name: str, quota: int | None, *, used: int, asked: int) -> QuotaExceeded:
    return QuotaExceeded(name, quota=quota or 0, used=used, asked=asked)


def set_quotas(namespace: Namespace, quotas: dict[str, int | None]) -> None:
    """Set quotas by name; None restores the installation's default, 0 means no quota. Inside
    operator()."""
    if unknown := set(quotas) - set(NAMES):
        raise ValidationError(f"There is no quota of {', '.join(sorted(unknown))}.")
    fields = {f"max_{name}": value for name, value in quotas.items()}
    for field, value in fields.items():
        setattr(namespace, field, value)
    namespace.full_clean()
    with transaction.atomic(using="operator"):
        namespace.save(update_fields=list(fields))
        audit.record("namespace.change", namespace=namespace, target=namespace, details=fields)
