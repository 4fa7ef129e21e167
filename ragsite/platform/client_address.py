"""Where a request comes from, as far as that can be trusted."""

import ipaddress

from django.conf import settings
from django.http import HttpRequest

UNKNOWN = "unknown"


def client_address(request: HttpRequest) -> str:
    """The address of the client: of the connection, or behind TRUSTED_PROXIES proxies the one that
    the outermost of them saw. Whatever stands to the left of that was written by the client."""
    proxies: int = settings.TRUSTED_PROXIES
    if proxies > 0:
        forwarded = request.META.get("HTTP_X_FORWARDED_FOR", "").split(",")
        if len(forwarded) >= proxies:
            return _normalized(forwarded[-proxies])
    return _normalized(request.META.get("REMOTE_ADDR") or "")


def network_of(address: str) -> str:
    """What one client can be held to: an IPv4 address, or the /64 of an IPv6 address, since each
    host has all addresses of its own."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return UNKNOWN
    if isinstance(parsed, ipaddress.IPv6Address):
        return str(ipaddress.ip_network((parsed, 64), strict=False))
    return str(parsed)


def _normalized(text: str) -> str:
    try:
        parsed = ipaddress.ip_address(text.strip().strip("[]"))
    except ValueError:
        return UNKNOWN
    if isinstance(parsed, ipaddress.IPv6Address) and parsed.ipv4_mapped:
        parsed = parsed.ipv4_mapped
    return str(parsed)
