"""Which network addresses the service may connect to when the caller chose the address.

The lists are our own, from the IANA special-purpose registries (IPv4 and IPv6, as of 2025): what
`ipaddress.is_global` calls public changes with Python's version and leaves out too much.
"""

import ipaddress
import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import psutil

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

# Cloud metadata services, within the ranges below or, like Azure's, public. Listed for the log.
METADATA_SERVICES = (
    "169.254.169.254",  # AWS, Azure, Google Cloud, Oracle, DigitalOcean, OpenStack
    "169.254.170.2",  # AWS ECS
    "169.254.0.23",  # Tencent
    "168.63.129.16",  # Azure's WireServer
    "100.100.100.200",  # Alibaba
    "192.0.0.192",  # Oracle, over its older endpoint
    "fd00:ec2::254",  # AWS
    "fd00:ec2::23",  # AWS EKS
    "fd20:ce::254",  # Google Cloud
)

SPECIAL_IPV4 = {
    "0.0.0.0/8": "this network",
    "10.0.0.0/8": "private use",
    "100.64.0.0/10": "shared address space",
    "127.0.0.0/8": "loopback",
    "169.254.0.0/16": "link local",
    "172.16.0.0/12": "private use",
    "192.0.0.0/24": "IETF protocol assignments",
    "192.0.2.0/24": "documentation",
    "192.31.196.0/24": "AS112",
    "192.52.193.0/24": "AMT",
    "192.88.99.0/24": "6to4 relay anycast",
    "192.168.0.0/16": "private use",
    "192.175.48.0/24": "AS112",
    "198.18.0.0/15": "benchmarking",
    "198.51.100.0/24": "documentation",
    "203.0.113.0/24": "documentation",
    "224.0.0.0/4": "multicast",
    "240.0.0.0/4": "reserved",  # class E, the limited broadcast address included
}

# Special ranges within the block that public addresses are allocated from.
IPV6_GLOBAL_UNICAST = ipaddress.IPv6Network("2000::/3")
SPECIAL_IPV6 = {
    "2001::/23": "IETF protocol assignments",  # Teredo, benchmarking, ORCHID and others
    "2001:db8::/32": "documentation",
    "2620:4f:8000::/48": "AS112",
    "3fff::/20": "documentation",
}
# Nothing outside that block is public; these ranges are listed for their names.
NAMED_IPV6 = {
    "::/128": "unspecified",
    "::1/128": "loopback",
    "::/96": "IPv4-compatible",
    "::ffff:0:0:0/96": "IPv4-translated",
    "64:ff9b:1::/48": "local-use NAT64",
    "100::/64": "discard only",
    "100:0:0:1::/64": "dummy prefix",
    "5f00::/16": "segment routing",
    "fc00::/7": "unique local",
    "fe80::/10": "link local",
    "fec0::/10": "site local",
    "ff00::/8": "multicast",
}

IPV4_MAPPED = ipaddress.IPv6Network("::ffff:0:0/96")
NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
SIX_TO_FOUR = ipaddress.IPv6Network("2002::/16")
ISATAP_MARKS = (0x00005EFE, 0x02005EFE)  # third quarter of an interface identifier

_METADATA = frozenset(map(ipaddress.ip_address, METADATA_SERVICES))
_IPV4 = [(ipaddress.IPv4Network(block), name) for block, name in SPECIAL_IPV4.items()]
_IPV6 = [
    (ipaddress.IPv6Network(block), name) for block, name in (SPECIAL_IPV6 | NAMED_IPV6).items()
]


def special_purpose(address: Address) -> str | None:
    """Return why this address is not public, or None if it is.

    An IPv6 address that leads to an embedded IPv4 address is judged by that one.
    """
    if address in _METADATA:
        return "cloud metadata service"
    if isinstance(address, ipaddress.IPv4Address):
        return next((name for block, name in _IPV4 if address in block), None)
    for carried in embedded_ipv4(address):
        if reason := special_purpose(carried):
            return f"leads to {carried}: {reason}"
    if address in IPV4_MAPPED or address in NAT64:
        return None
    if name := next((name for block, name in _IPV6 if address in block), None):
        return name
    return None if address in IPV6_GLOBAL_UNICAST else "not allocated"


def embedded_ipv4(address: ipaddress.IPv6Address) -> Iterator[ipaddress.IPv4Address]:
    """Yield the IPv4 addresses that packets to this one may be forwarded to.

    Teredo and deprecated forms are left out: their ranges are refused as a whole.
    """
    number = int(address)
    if address in IPV4_MAPPED or address in NAT64:
        yield ipaddress.IPv4Address(number & 0xFFFFFFFF)
    elif address in SIX_TO_FOUR:
        yield ipaddress.IPv4Address(number >> 80 & 0xFFFFFFFF)
    elif number >> 32 & 0xFFFFFFFF in ISATAP_MARKS:
        yield ipaddress.IPv4Address(number & 0xFFFFFFFF)


def parse_address(text: str) -> Address:
    """Parse an address, with or without a zone ("fe80::1%eth0")."""
    return ipaddress.ip_address(text.partition("%")[0])


def own_addresses() -> frozenset[Address]:
    """Return the addresses of this machine's interfaces.

    Behind NAT that does not include its public address.
    """
    return frozenset(
        parse_address(entry.address)
        for entries in psutil.net_if_addrs().values()
        for entry in entries
        if entry.family in (socket.AF_INET, socket.AF_INET6)
    )


@dataclass(frozen=True)
class AddressPolicy:
    """Allows public addresses that are not this machine's own.

    `allowed` lists exceptions: networks in which an operator has receivers of webhooks, and this
    machine in tests. `find_own` is called for every decision, because addresses change.
    """

    allowed: tuple[Network, ...] = ()
    find_own: Callable[[], frozenset[Address]] = own_addresses

    def refusal(self, address: Address) -> str | None:
        """Return why the service may not connect to an address, for the log; None if it may."""
        if self._is_exempt(address):
            return None
        if reason := special_purpose(address):
            return reason
        own = self.find_own()
        carried = embedded_ipv4(address) if isinstance(address, ipaddress.IPv6Address) else ()
        return "this machine" if own.intersection((address, *carried)) else None

    def peer_refusal(self, peer: Address, *, local: Address) -> str | None:
        """Check an open connection in the same way. If both ends have the same address, it never
        left this machine, whatever its interfaces report."""
        if peer == local and not self._is_exempt(peer):
            return "this machine"
        return self.refusal(peer)

    def _is_exempt(self, address: Address) -> bool:
        """Whether an address is an exception. A metadata service never is, even embedded in another
        address."""
        carried = embedded_ipv4(address) if isinstance(address, ipaddress.IPv6Address) else ()
        if not _METADATA.isdisjoint((address, *carried)):
            return False
        return any(address in network for network in self.allowed)
