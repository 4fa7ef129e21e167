"""Namespaces and API keys: made by operators, for clients."""

import hashlib
import secrets
from collections.abc import Mapping, Sequence
from datetime import datetime

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
    namespace.save()
    return namespace


def issue(
    namespace: Namespace,
    *,
    scopes: Sequence[str],
    name: str = "",
    expires_at: datetime | None = None,
    limits: Mapping[str, int] | None = None,
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
        limits=dict(limits or {}),
    )
    key.full_clean()
    key.save()
    return key, f"rs_{prefix}_{secret}"


def change_limits(key: ApiKey, changes: Mapping[str, int | None]) -> None:
    """Requests a minute by class; None: the installation's own again. Inside operator()."""
    limits = {**key.limits, **changes}
    key.limits = {name: value for name, value in limits.items() if value is not None}
    key.full_clean()
    key.save(update_fields=["limits"])


def digest(secret: str) -> str:
    # A plain hash is enough for a random secret of 256 bits: there is nothing to guess.
    return hashlib.sha256(secret.encode()).hexdigest()
