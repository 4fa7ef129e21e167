"""Check scheme, host and port of a web address, before any name lookup."""

import ipaddress
import re
from collections.abc import Collection
from contextlib import suppress

import httpx2

from documents.errors import BadFile

STANDARD_PORTS = {"http": 80, "https": 443}
# Names reserved for this machine or the local network (RFC 6761, 6762, 7686, 8375).
LOCAL_DOMAINS = ("localhost", "localdomain", "local", "internal", "home.arpa", "onion")
HOST_NAME = re.compile(r"(?=.{1,253}\Z)([a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?\.)*[a-z0-9_-]{1,63}")
# Resolvers read "127.1", "0x7f.1" and "2130706433" as addresses; no public host has such a name.
ENDS_IN_NUMBER = re.compile(r"(.*\.)?(\d+|0x[0-9a-f]*)")


class FetchRefused(BadFile):
    code = "url_refused"


def checked_url(url: str, *, ports: Collection[int], allow_local_names: bool = False) -> httpx2.URL:
    """Return the parsed URL with its host in canonical form. Raises FetchRefused."""
    try:
        parsed = httpx2.URL(url)
    except (httpx2.InvalidURL, ValueError, TypeError):
        raise FetchRefused("This is not an address that can be fetched.") from None
    if parsed.scheme not in STANDARD_PORTS or not parsed.host:
        raise FetchRefused("Only http and https addresses are fetched.")
    if parsed.userinfo:
        raise FetchRefused("An address with a user name or password is not fetched.")
    if port_of(parsed) not in ports:
        allowed = ", ".join(map(str, sorted(ports)))
        raise FetchRefused(f"Only these ports are fetched from: {allowed}.")
    host = _checked_host(parsed.raw_host.decode("ascii").lower())
    if not allow_local_names and any(
        host == domain or host.endswith(f".{domain}") for domain in LOCAL_DOMAINS
    ):
        raise FetchRefused(f"{host} is not a public address.")
    return parsed.copy_with(host=host)


def port_of(url: httpx2.URL) -> int:
    return STANDARD_PORTS[url.scheme] if url.port is None else url.port


def _checked_host(host: str) -> str:
    name = host.removesuffix(".")
    if "%" not in name:  # an IPv6 zone would name one of our interfaces
        with suppress(ValueError):
            return str(ipaddress.ip_address(name))
    if not HOST_NAME.fullmatch(name) or ENDS_IN_NUMBER.fullmatch(name):
        raise FetchRefused("The host is neither a name nor an address in its usual form.")
    return name
