"""The address a request comes from, as far as it can be trusted."""

import ipaddress

from django.conf import settings
from django.http import HttpRequest

from ragsite.platform.asgi_types import Scope

UNKNOWN = "unknown"


def client_address(request: HttpRequest) -> str:
    """Return the connection's address or, behind TRUSTED_PROXIES proxies, the one that the
    outermost proxy saw. Anything further left in X-Forwarded-For was written by the client."""
    forwarded = request.META.get("HTTP_X_FORWARDED_FOR", "")
    return _trusted(forwarded, request.META.get("REMOTE_ADDR") or "")


def address_of_scope(scope: Scope) -> str:
    """Return the address at the ASGI layer, before there is a Django request."""
    # Repeated headers form one list, as in Django: the client's comes before the proxy's.
    values = (value for name, value in scope["headers"] if name == b"x-forwarded-for")
    client = scope.get("client")
    return _trusted(str(b",".join(values), "latin-1"), client[0] if client else "")


def network_of(address: str) -> str:
    """Return the part that identifies a client: an IPv4 address, or the /64 of an IPv6 address,
    because a host usually has a whole /64."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return UNKNOWN
    if isinstance(parsed, ipaddress.IPv6Address):
        return str(ipaddress.ip_network((parsed, 64), strict=False))
    return str(parsed)


def _trusted(forwarded: str, peer: str) -> str:
    proxies: int = settings.TRUSTED_PROXIES
    if proxies > 0:
        addresses = forwarded.split(",")
        if len(addresses) >= proxies:
            return _normalized(addresses[-proxies])
    return _normalized(peer)


def _normalized(text: str) -> str:
    try:
        parsed = ipaddress.ip_address(text.strip().strip("[]"))
    except ValueError:
        return UNKNOWN
    if isinstance(parsed, ipaddress.IPv6Address) and parsed.ipv4_mapped:
        parsed = parsed.ipv4_mapped
    return str(parsed)
