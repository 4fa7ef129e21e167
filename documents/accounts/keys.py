"""Creating and renaming namespaces; issuing, limiting and revoking API keys."""

import hashlib
import secrets
from collections.abc import Mapping, Sequence
from datetime import datetime

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from documents.models import ApiKey, IndexProfile, Namespace, OperatorKey

from . import audit

PREFIX_BYTES = 6
SECRET_BYTES = 32


def create_namespace(
    slug: str, *, name: str = "", profile: IndexProfile | None = None, language: str = ""
) -> Namespace:
    """Create a namespace. Inside operator(). Raises ValidationError for a slug that is taken or
    malformed."""
    namespace = Namespace(slug=slug, name=name, language=language)
    if profile is not None:
        namespace.active_profile = profile
    namespace.full_clean()
    with transaction.atomic(using="operator"):
        namespace.save()
        details = {"profile": namespace.active_profile.name}
        audit.record("namespace.create", namespace=namespace, target=namespace, details=details)
    return namespace


def rename_namespace(namespace: Namespace, *, slug: str = "", name: str | None = None) -> None:
    """Change the slug or the name; keys, links, ids and documents stay. Inside operator(). Raises
    ValidationError for a slug that is taken or malformed, and while the namespace is being deleted.
    """
    before = {"slug": namespace.slug, "name": namespace.name}
    namespace.slug = slug or namespace.slug
    namespace.name = namespace.name if name is None else name
    after = {"slug": namespace.slug, "name": namespace.name}
    if namespace.deleting_since is not None:
        raise ValidationError("The namespace is being deleted.", code="being_deleted")
    others = {field.name for field in Namespace._meta.fields} - set(after)
    namespace.full_clean(exclude=others)
    with transaction.atomic(using="operator"):
        namespace.save(update_fields=list(after))
        details = {"from": before["slug"], "to": after["slug"]}
        audit.record("namespace.rename", namespace=namespace, target=namespace, details=details)


def issue(
    namespace: Namespace,
    *,
    scopes: Sequence[str],
    name: str = "",
    expires_at: datetime | None = None,
    limits: Mapping[str, int] | None = None,
) -> tuple[ApiKey, str]:
    """Create a key and return it with its plain text, which is not stored. Inside operator()."""
    if namespace.deleting_since is not None:
        raise ValidationError("The namespace is being deleted.", code="being_deleted")
    prefix, secret = _new_secret()
    key = ApiKey(
        namespace=namespace,
        name=name,
        prefix=prefix,
        secret_sha256=digest(secret),
        scopes=list(scopes),
        expires_at=expires_at,
        limits=dict(limits or {}),
    )
    key.full_clean()
    details = {"scopes": key.scopes, "expires_at": expires_at and expires_at.isoformat()}
    with transaction.atomic(using="operator"):
        key.save()
        audit.record("key.create", namespace=namespace, target=key, details=details)
    return key, f"rs_{prefix}_{secret}"


def change_limits(key: ApiKey, changes: Mapping[str, int | None]) -> None:
    """Set requests per minute by class; None restores the installation's limit. Inside
    operator()."""
    limits = {**key.limits, **changes}
    key.limits = {name: value for name, value in limits.items() if value is not None}
    key.full_clean()
    with transaction.atomic(using="operator"):
        key.save(update_fields=["limits"])
        details = {"limits": key.limits}
        audit.record("key.change", namespace=key.namespace, target=key, details=details)


def issue_operator_key(
    *, name: str = "", expires_at: datetime | None = None
) -> tuple[OperatorKey, str]:
    """Create a key for the whole installation; return it with its plain text. Inside operator()."""
    prefix, secret = _new_secret()
    key = OperatorKey(name=name, prefix=prefix, secret_sha256=digest(secret), expires_at=expires_at)
    key.full_clean()
    details = {"expires_at": expires_at and expires_at.isoformat()}
    with transaction.atomic(using="operator"):
        key.save()
        audit.record("operator_key.create", target=key, details=details)
    return key, f"rsop_{prefix}_{secret}"


def revoke_operator_keys(keys: QuerySet[OperatorKey]) -> int:
    """Revoke these keys; return how many were still active. Inside operator()."""
    with transaction.atomic(using="operator"):
        revoked = list(keys.filter(revoked_at=None).select_for_update())
        ids = [key.pk for key in revoked]
        OperatorKey.objects.filter(pk__in=ids).update(revoked_at=timezone.now())
        for key in revoked:
            audit.record("operator_key.revoke", target=key)
    return len(revoked)


def revoke(keys: QuerySet[ApiKey]) -> int:
    """Revoke these keys; return how many were still active. Inside operator()."""
    with transaction.atomic(using="operator"):
        active = keys.filter(revoked_at=None).select_for_update(of=("self",))
        revoked = list(active.select_related("namespace"))
        ApiKey.objects.filter(pk__in=[key.pk for key in revoked]).update(revoked_at=timezone.now())
        for key in revoked:
            audit.record("key.revoke", namespace=key.namespace, target=key)
    return len(revoked)


def _new_secret() -> tuple[str, str]:
    # Hexadecimal, because the prefix is cut off at the underscore.
    return secrets.token_hex(PREFIX_BYTES), secrets.token_urlsafe(SECRET_BYTES)


def digest(secret: str) -> str:
    # A plain hash is sufficient for a random secret of 256 bits, which cannot be guessed.
    return hashlib.sha256(secret.encode()).hexdigest()
