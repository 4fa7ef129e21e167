"""`Authorization: Bearer rsop_…`: installation-wide keys, for the routes that manage namespaces and
keys. With OPERATOR_API off these routes answer 404 and no key is looked up."""

import hashlib
import hmac
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING
from uuid import UUID

from django.conf import settings
from django.db import connections
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from rest_framework.authentication import BaseAuthentication
from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from ragsite.access.auth import count_wrong_key
from ragsite.platform.errors import CHALLENGE, ApiError

from . import rate_counters, rate_limits
from .actor import KEY, set_actor
from .client_address import client_address

if TYPE_CHECKING:  # DRF itself loads this module while it loads its views
    from rest_framework.views import APIView

_KEY = re.compile(r"rsop_([0-9a-f]{12})_([A-Za-z0-9_-]{43})")
_FIND = """
    SELECT id, secret_sha256, expires_at <= now(), revoked_at IS NOT NULL
    FROM documents_operatorkey WHERE prefix = %s
"""
# Once a minute is enough to show that a key is in use.
_NOTE_USE = """
    UPDATE documents_operatorkey SET last_used_at = now()
    WHERE id = %s AND (last_used_at IS NULL OR last_used_at < now() - interval '1 minute')
"""


@dataclass(frozen=True, slots=True)
class OperatorCaller:
    """An operator of the installation. Has no namespace, so it cannot read content."""

    key_id: UUID
    prefix: str

    is_authenticated = True  # required by DRF


class OperatorKeyAuthentication(BaseAuthentication):
    def authenticate(self, request: Request) -> tuple[OperatorCaller, OperatorCaller] | None:
        if not settings.OPERATOR_API:
            raise ApiError(
                "operator_api_off", "The operator API is switched off here.", http_status=404
            )
        header = request.headers.get("Authorization", "")
        if not header.strip():
            return None
        kind, _, key = header.partition(" ")
        match = _KEY.fullmatch(key.strip()) if kind.lower() == "bearer" else None
        caller = _find(*match.groups()) if match else None
        if caller is None:
            count_wrong_key(client_address(request._request))
            raise _refused("invalid_key", "This is not a valid operator key.")
        _limit(request, caller)
        set_actor(KEY, f"operator {caller.prefix}")
        return caller, caller

    def authenticate_header(self, request: Request) -> str:
        return CHALLENGE


class IsOperator(BasePermission):
    def has_permission(self, request: Request, view: "APIView") -> bool:
        if not isinstance(request.auth, OperatorCaller):
            raise _refused(
                "not_authenticated", "Send an operator key as `Authorization: Bearer <key>`."
            )
        return True


def _limit(request: Request, caller: OperatorCaller) -> None:
    """Apply the installation's default limits; operator keys have no limits of their own."""
    rate_class = rate_limits.rate_class_of(request.parser_context.get("view"), request.method)
    limit: int = settings.RATE_LIMITS[rate_class]
    if limit:
        count = rate_counters.count(f"operator-key/{caller.key_id}/{rate_class}", limit)
        admission = rate_limits.admission(rate_class, limit, count)
        request._request.admission = admission  # type: ignore[attr-defined]
        rate_limits.require(admission)


def _refused(code: str, message: str) -> ApiError:
    return ApiError(code, message, http_status=401)


def _find(prefix: str, secret: str) -> OperatorCaller | None:
    with connections["operator"].cursor() as cursor:
        cursor.execute(_FIND, [prefix])
        row = cursor.fetchone()
        if row is None:
            return None
        key_id, stored, is_expired, is_revoked = row
        if not hmac.compare_digest(hashlib.sha256(secret.encode()).hexdigest(), stored):
            return None
        if is_revoked:
            raise _refused("key_revoked", "This operator key has been revoked.")
        if is_expired:
            raise _refused("key_expired", "This operator key has expired.")
        cursor.execute(_NOTE_USE, [key_id])
    return OperatorCaller(key_id, prefix)


class OperatorKeyScheme(OpenApiAuthenticationExtension):
    target_class = "ragsite.access.operator_auth.OperatorKeyAuthentication"
    name = "operatorKey"

    def get_security_definition(self, auto_schema: object) -> dict[str, str]:
        return {"type": "http", "scheme": "bearer", "bearerFormat": "rsop_<prefix>_<secret>"}
