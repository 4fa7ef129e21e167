"""Outgoing connections for callers: pages to fetch (documents/intake/fetching.py) and receivers of
webhooks (documents/webhooks/)."""

from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import Any

import environ
from django.core.exceptions import ImproperlyConfigured

from ragsite.access.addresses import METADATA_SERVICES

MAX_WEBHOOK_SECONDS = 15  # a worker that is silent for longer is restarted


def fetching(env: environ.Env) -> dict[str, Any]:
    return {
        "ports": frozenset(env.list("FETCH_PORTS", cast=int, default=[80, 443])),
        "seconds": env.float("FETCH_SECONDS", default=20.0),
    }


def webhooks(env: environ.Env) -> dict[str, Any]:
    seconds = env.float("WEBHOOK_SECONDS", default=10.0)
    if not 0 < seconds <= MAX_WEBHOOK_SECONDS:
        raise ImproperlyConfigured(f"WEBHOOK_SECONDS must be at most {MAX_WEBHOOK_SECONDS}.")
    return {
        "ports": _ports(env.list("WEBHOOK_PORTS", default=["80", "443"])),
        "max_endpoints": env.int("WEBHOOK_MAX_ENDPOINTS", default=10),
        "seconds": seconds,
        "allow_http": env.bool("WEBHOOK_ALLOW_HTTP", default=False),
        "private_networks": _private_networks(env.list("WEBHOOK_PRIVATE_NETWORKS", default=[])),
        "disable_days": _at_least_one(
            "WEBHOOK_DISABLE_DAYS", env.float("WEBHOOK_DISABLE_DAYS", default=5.0)
        ),
        # with less than one day, events would be deleted before they are sent
        "days": _at_least_one("WEBHOOK_DAYS", env.int("WEBHOOK_DAYS", default=30)),
    }


def _at_least_one(name: str, days: float) -> float:
    if not days >= 1:
        raise ImproperlyConfigured(f"{name} must be at least 1.")
    return days


def _ports(listed: list[str]) -> frozenset[int]:
    named = [one.strip() for one in listed]
    if not all(one.isdecimal() and 0 < int(one) < 65536 for one in named):
        raise ImproperlyConfigured("WEBHOOK_PORTS must be a list of numbers from 1 to 65535.")
    return frozenset(map(int, named))


def _private_networks(listed: list[str]) -> list[IPv4Network | IPv6Network]:
    """Return the operator's networks in which receivers may be. None may contain a metadata
    service, which gives the machine's credentials to any client."""
    try:
        networks = [ip_network(one.strip()) for one in listed if one.strip()]
    except ValueError as error:
        raise ImproperlyConfigured(f"WEBHOOK_PRIVATE_NETWORKS: {error}.") from None
    for network in networks:
        if inside := [one for one in METADATA_SERVICES if ip_address(one) in network]:
            raise ImproperlyConfigured(
                f"WEBHOOK_PRIVATE_NETWORKS: {network} holds the metadata service {inside[0]}. Name "
                "smaller networks, preferably the receiver's own address."
            )
    return networks
