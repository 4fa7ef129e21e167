"""`Authorization: Bearer rs_…`: a key identifies its caller, with a namespace and scopes."""

import hashlib
import hmac
import re
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING
from uuid import UUID

from django.conf import settings
from django.db import connection
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from rest_framework.authentication import BaseAuthentication
from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from ragsite.database.tenancy import namespace, query_in_namespace, query_prepared
from ragsite.platform.errors import CHALLENGE, ApiError

from . import rate_counters, rate_limits
from .actor import KEY, set_actor
from .client_address import client_address, network_of
from .rate_limits import Admission, Count, RateLimited
from .refused_calls import call_of

if TYPE_CHECKING:  # DRF itself loads this module while it loads its views
    from rest_framework.views import APIView

_KEY = re.compile(r"rs_([0-9a-f]{12})_([A-Za-z0-9_-]{43})")
_LAST_USED_INTERVAL = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class Caller:
    """Who is calling, for which namespace, and with which scopes."""

    key_id: UUID
    namespace_id: UUID
    scopes: frozenset[str]
    prefix: str = ""

    is_authenticated = True  # required by DRF

    def may(self, scope: str) -> bool:
        return scope in self.scopes or "admin" in self.scopes


@dataclass(frozen=True, slots=True)
class CountedCall:
    """A caller, and whether their rate limit admits the call; None without a limit."""

    caller: Caller
    admission: Admission | None


class ApiKeyAuthentication(BaseAuthentication):
    def authenticate(self, request: Request) -> tuple[Caller, Caller] | None:
        header = request.headers.get("Authorization", "")
        if not header.strip():
            return None
        view = request.parser_context.get("view")
        call = authenticate(
            header,
            rate_class=rate_limits.rate_class_of(view, request.method),
            address=client_address(request._request),
        )
        if call.admission is not None:
            # The middleware reads it from Django's request, which DRF's wraps.
            request._request.admission = call.admission  # type: ignore[attr-defined]
            if not call.admission.is_allowed:
                refused = call_of(header, request.method or "", request.path)
                request._request.refused_call = refused  # type: ignore[attr-defined]
                raise rate_limits.refusal(call.admission)
        set_actor(KEY, call.caller.prefix)
        return call.caller, call.caller

    def authenticate_header(self, request: Request) -> str:
        return CHALLENGE


def authenticate(authorization: str, *, rate_class: str, address: str) -> CountedCall:
    """Look up the key of an Authorization header and count the request against its limit.

    Raises ApiError for an invalid key, and RateLimited when too many of those came from one
    address. The caller has to check whether the limit admits the request.
    """
    return _authenticate(authorization, rate_class=rate_class, address=address, counts=True)


def find_caller(authorization: str, *, address: str) -> Caller:
    """Return the caller of a header's key without counting the request.

    Raises as `authenticate` does, so that wrong keys are limited here too.
    """
    return _authenticate(authorization, rate_class="read", address=address, counts=False).caller


def is_well_formed(authorization: str) -> bool:
    """Whether the header has the form of an API key; nothing is looked up."""
    return _parse(authorization) is not None


def _authenticate(
    authorization: str, *, rate_class: str, address: str, counts: bool
) -> CountedCall:
    match = _parse(authorization)
    call = _find(match[1], match[2], rate_class, counts=counts) if match else None
    if call is None:
        count_wrong_key(address)
        raise _refused("invalid_key", "This API key is not valid.")
    return call


def count_call(key_id: UUID, namespace_id: UUID, *, rate_class: str) -> Admission | None:
    """Count one more call of an authenticated key, under another rate class.

    Returns None where there is no limit; raises RateLimited.
    """
    usual: int = settings.RATE_LIMITS[rate_class]
    wanted = {"key": key_id, "class": rate_class, "usual": usual}
    rows = query_in_namespace(namespace_id, _LIMIT, wanted)
    limit: int = rows[0][0] if rows else usual
    if not limit:
        return None
    counted = rate_counters.count(f"key/{key_id}/{rate_class}", limit)
    admitted = rate_limits.admission(rate_class, limit, counted)
    rate_limits.require(admitted)
    return admitted


class HasScope(BasePermission):
    """Checks the scope that a view lists for the method in `scopes`; the default for GET is read.

    None means that any key may call, and the view checks the scope itself.
    """

    def has_permission(self, request: Request, view: "APIView") -> bool:
        if not isinstance(request.auth, Caller):
            raise not_authenticated()
        reads = request.method in ("GET", "HEAD", "OPTIONS")
        scopes: dict[str, str | None] = getattr(view, "scopes", {})
        needed = scopes.get(request.method or "", "read" if reads else "write")
        if needed is not None and not request.auth.may(needed):
            raise insufficient_scope(needed)
        return True


def not_authenticated() -> ApiError:
    return _refused("not_authenticated", "Send your API key as `Authorization: Bearer <key>`.")


def insufficient_scope(needed: str) -> ApiError:
    return ApiError("insufficient_scope", f"This key lacks the scope {needed!r}.", http_status=403)


def _refused(code: str, message: str) -> ApiError:
    return ApiError(code, message, http_status=401)


def _parse(authorization: str) -> re.Match[str] | None:
    kind, _, key = authorization.partition(" ")
    return _KEY.fullmatch(key.strip()) if kind.lower() == "bearer" else None


def count_wrong_key(address: str) -> None:
    """Count a wrong key against its address; valid keys from the same address keep working."""
    limit: int = settings.WRONG_KEYS_PER_MINUTE
    if limit <= 0:
        return
    count = rate_counters.count(f"wrong-keys/{network_of(address)}", limit)
    if not count.is_allowed:
        seconds = rate_limits.admission("", limit, count).reset_seconds
        raise RateLimited(
            f"Too many invalid API keys came from your address. Try again in {seconds} s.",
            retry_after=seconds,
        )


# Reads across tenants, because the tenant is not known yet. By the database's clock: hosts may
# disagree on the time, and a key that one of them has revoked is revoked at once. The request is
# counted in the same round trip, unless Redis counts.
_OPEN = """
    SELECT key_id, namespace_id, secret_sha256, scopes, expires_at <= now(),
           revoked_at IS NOT NULL, coalesce(now() - last_used_at > %(note_use)s, true),
           request_limit, is_allowed, previous, current, elapsed
    FROM ragsite.open_api_key(
        %(prefix)s, %(digest)s, %(rate_class)s, %(limit)s, %(window)s, %(counts)s
    )
"""

_LIMIT = """
    SELECT coalesce((limits ->> %(class)s)::int, %(usual)s)
    FROM documents_apikey WHERE id = %(key)s
"""


def _find(prefix: str, secret: str, rate_class: str, *, counts: bool) -> CountedCall | None:
    digest = hashlib.sha256(secret.encode()).hexdigest()
    rows = query_prepared(
        _OPEN,
        {
            "prefix": prefix,
            "digest": digest,
            "rate_class": rate_class,
            "limit": settings.RATE_LIMITS[rate_class],
            "window": rate_limits.WINDOW_SECONDS,
            "note_use": _LAST_USED_INTERVAL,
            "counts": counts and rate_counters.uses_postgres(),
        },
    )
    if not rows:
        return None
    key_id, namespace_id, stored, scopes, is_expired, is_revoked, is_to_be_noted = rows[0][:7]
    if not hmac.compare_digest(digest, stored):
        return None
    if is_revoked:
        raise _refused("key_revoked", "This API key has been revoked.")
    if is_expired:
        raise _refused("key_expired", "This API key has expired.")
    if is_to_be_noted:
        _record_use(key_id, namespace_id)
    caller = Caller(key_id, namespace_id, frozenset(scopes), prefix)
    return CountedCall(caller, _admission(key_id, rate_class, *rows[0][7:]) if counts else None)


def _admission(
    key_id: UUID, rate_class: str, limit: int, is_allowed: bool | None, *counted: float
) -> Admission | None:
    if not limit:
        return None
    if is_allowed is None:  # not counted yet
        count = rate_counters.count(f"key/{key_id}/{rate_class}", limit)
    else:
        previous, current, elapsed = counted
        count = Count(is_allowed, int(previous), int(current), elapsed)
    return rate_limits.admission(rate_class, limit, count)


def _record_use(key_id: UUID, namespace_id: UUID) -> None:
    with namespace(namespace_id), connection.cursor() as cursor:
        cursor.execute("UPDATE documents_apikey SET last_used_at = now() WHERE id = %s", [key_id])


class ApiKeyScheme(OpenApiAuthenticationExtension):
    target_class = "ragsite.access.auth.ApiKeyAuthentication"
    name = "apiKey"

    def get_security_definition(self, auto_schema: object) -> dict[str, str]:
        return {"type": "http", "scheme": "bearer", "bearerFormat": "rs_<prefix>_<secret>"}
