"""`Authorization: Bearer rs_…`: the key names its caller, the caller's namespace and scopes."""

import hashlib
import hmac
import re
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING
from uuid import UUID

from django.db import connection
from django.utils import timezone
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from rest_framework.authentication import BaseAuthentication
from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from .errors import CHALLENGE, ApiError
from .platform.actor import KEY, set_actor
from .tenancy import looked_up, namespace

if TYPE_CHECKING:  # DRF itself loads this module while it loads its views
    from rest_framework.views import APIView

_KEY = re.compile(r"rs_([0-9a-f]{12})_([A-Za-z0-9_-]{43})")
_USE_IS_WRITTEN_EVERY = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class Caller:
    """Who is calling, and what for they may."""

    key_id: UUID
    namespace_id: UUID
    scopes: frozenset[str]
    prefix: str = ""

    is_authenticated = True  # what DRF asks of a user

    def may(self, scope: str) -> bool:
        return scope in self.scopes or "admin" in self.scopes


class ApiKeyAuthentication(BaseAuthentication):
    def authenticate(self, request: Request) -> tuple[Caller, Caller] | None:
        kind, _, key = request.headers.get("Authorization", "").partition(" ")
        if not kind:
            return None
        match = _KEY.fullmatch(key.strip()) if kind.lower() == "bearer" else None
        caller = _find(*match.groups()) if match else None
        if caller is None:
            raise _refused("invalid_key", "This API key is not valid.")
        set_actor(KEY, caller.prefix)
        return caller, caller

    def authenticate_header(self, request: Request) -> str:
        return CHALLENGE


class HasScope(BasePermission):
    """A view names the scope of each method in `scopes`; reading is the default for GET."""

    def has_permission(self, request: Request, view: "APIView") -> bool:
        if not isinstance(request.auth, Caller):
            raise _refused(
                "not_authenticated", "Send your API key as `Authorization: Bearer <key>`."
            )
        reads = request.method in ("GET", "HEAD", "OPTIONS")
        scopes: dict[str, str] = getattr(view, "scopes", {})
        needed = scopes.get(request.method or "", "read" if reads else "write")
        if not request.auth.may(needed):
            raise ApiError(
                "insufficient_scope", f"This key lacks the scope {needed!r}.", http_status=403
            )
        return True


def _refused(code: str, message: str) -> ApiError:
    return ApiError(code, message, http_status=401)


def _find(prefix: str, secret: str) -> Caller | None:
    """Look the key up past the tenant wall: no tenant is known before this answers."""
    rows = looked_up(
        "SELECT key_id, namespace_id, secret_sha256, scopes, expires_at, revoked_at, "
        "last_used_at FROM ragsite.find_api_key(%(prefix)s)",
        {"prefix": prefix},
    )
    if not rows:
        return None
    key_id, namespace_id, stored, scopes, expires_at, revoked_at, last_used_at = rows[0]
    if not hmac.compare_digest(hashlib.sha256(secret.encode()).hexdigest(), stored):
        return None
    now = timezone.now()
    if revoked_at and revoked_at <= now:
        raise _refused("key_revoked", "This API key has been revoked.")
    if expires_at and expires_at <= now:
        raise _refused("key_expired", "This API key has expired.")
    if last_used_at is None or now - last_used_at > _USE_IS_WRITTEN_EVERY:
        _note_use(key_id, namespace_id)
    return Caller(key_id, namespace_id, frozenset(scopes), prefix)


def _note_use(key_id: UUID, namespace_id: UUID) -> None:
    with namespace(namespace_id), connection.cursor() as cursor:
        cursor.execute("UPDATE documents_apikey SET last_used_at = now() WHERE id = %s", [key_id])


class ApiKeyScheme(OpenApiAuthenticationExtension):
    target_class = "ragsite.auth.ApiKeyAuthentication"
    name = "apiKey"

    def get_security_definition(self, auto_schema: object) -> dict[str, str]:
        return {"type": "http", "scheme": "bearer", "bearerFormat": "rs_<prefix>_<secret>"}
