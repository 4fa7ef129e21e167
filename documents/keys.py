"""Namespaces and API keys: made by operators, for clients."""

import hashlib
import secrets
from collections.abc import Sequence
from datetime import datetime

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from . import audit
from .models import ApiKey, IndexProfile, Namespace

PREFIX_BYTES = 6
SECRET_BYTES = 32


def create_namespace(
    slug: str, *, name: str = "", profile: IndexProfile | None = None, language: str = ""
) -> Namespace:
    """Inside operator(). Raises ValidationError for a slug that is taken or malformed."""
    namespace = Namespace(slug=slug, name=name, language=language)
    if profile is not None:
        namespace.active_profile = profile
    namespace.full_clean()
    with transaction.atomic(using="operator"):
        namespace.save()
        details = {"profile": namespace.active_profile.name}
        audit.record("namespace.create", namespace=namespace, target=namespace, details=details)
    return namespace


def issue(
    namespace: Namespace,
    *,
    scopes: Sequence[str],
    name: str = "",
    expires_at: datetime | None = None,
) -> tuple[ApiKey, str]:
    """A new key and its plain text, which nobody can ever read again. Inside operator()."""
    # Hexadecimal, because the prefix is cut off at the underscore.
    prefix, secret = secrets.token_hex(PREFIX_BYTES), secrets.token_urlsafe(SECRET_BYTES)
    key = ApiKey(
        namespace=namespace,
        name=name,
        prefix=prefix,
        secret_sha256=digest(secret),
        scopes=list(scopes),
        expires_at=expires_at,
    )
    key.full_clean()
    details = {"scopes": key.scopes, "expires_at": expires_at and expires_at.isoformat()}
    with transaction.atomic(using="operator"):
        key.save()
        audit.record("key.create", namespace=namespace, target=key, details=details)
    return key, f"rs_{prefix}_{secret}"


def revoke(keys: QuerySet[ApiKey]) -> int:
    """Make these keys useless from now on; how many were not revoked before. Inside operator()."""
    with transaction.atomic(using="operator"):
        active = keys.filter(revoked_at=None).select_for_update(of=("self",))
        revoked = list(active.select_related("namespace"))
        ApiKey.objects.filter(pk__in=[key.pk for key in revoked]).update(revoked_at=timezone.now())
        for key in revoked:
            audit.record("key.revoke", namespace=key.namespace, target=key)
    return len(revoked)


def digest(secret: str) -> str:
    # A plain hash is enough for a random secret of 256 bits: there is nothing to guess.
    return hashlib.sha256(secret.encode()).hexdigest()
