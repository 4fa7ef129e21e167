"""Which addresses are public: every special-purpose range, at its ends and just outside of them."""

import ipaddress
import socket

import pytest

from ragsite.access.addresses import (
    METADATA_SERVICES,
    AddressPolicy,
    own_addresses,
    parse_address,
    special_purpose,
)

# Range, and whether its neighbours below and above are public. Written out here, not taken from
# the module, so that a range lost there is missed here.
RANGES = [
    ("0.0.0.0/8", None, True),
    ("10.0.0.0/8", True, True),
    ("100.64.0.0/10", True, True),
    ("127.0.0.0/8", True, True),
    ("169.254.0.0/16", True, True),
    ("172.16.0.0/12", True, True),
    ("192.0.0.0/24", True, True),
    ("192.0.2.0/24", True, True),
    ("192.31.196.0/24", True, True),
    ("192.52.193.0/24", True, True),
    ("192.88.99.0/24", True, True),
    ("192.168.0.0/16", True, True),
    ("192.175.48.0/24", True, True),
    ("198.18.0.0/15", True, True),
    ("198.51.100.0/24", True, True),
    ("203.0.113.0/24", True, True),
    ("224.0.0.0/4", True, False),
    ("240.0.0.0/4", False, None),
    ("255.255.255.255/32", False, None),
    ("::/128", None, False),
    ("::1/128", False, False),
    ("::/96", None, False),
    ("::ffff:0:0:0/96", False, False),
    ("64:ff9b:1::/48", False, False),
    ("100::/64", False, False),
    ("100:0:0:1::/64", False, False),
    ("1000::/4", False, True),  # not allocated, up to the public block
    ("2001::/23", True, True),
    ("2001:0:7f00:1::/64", False, False),  # Teredo
    ("2001:1::1/128", False, False),
    ("2001:2::/48", False, False),
    ("2001:3::/32", False, False),
    ("2001:4:112::/48", False, False),
    ("2001:10::/28", False, False),
    ("2001:20::/28", False, False),
    ("2001:30::/28", False, False),
    ("2001:db8::/32", True, True),
    ("2620:4f:8000::/48", True, True),
    ("3fff::/20", True, True),
    ("4000::/2", True, False),  # not allocated, from the public block on
    ("5f00::/16", False, False),
    ("fc00::/7", False, False),
    ("fe80::/10", False, False),
    ("fec0::/10", False, False),
    ("ff00::/8", False, None),
]


@pytest.mark.parametrize(("block", "below", "above"), RANGES)
def test_a_special_range_is_refused_from_its_first_to_its_last_address(
    block: str, below: bool | None, above: bool | None
):
    network = ipaddress.ip_network(block)
    first, last = network.network_address, network.broadcast_address
    for inside in (first, last, first + (int(last) - int(first)) // 2):
        assert special_purpose(inside), inside
    for outside, is_public in ((int(first) - 1, below), (int(last) + 1, above)):
        if is_public is not None:
            neighbour = type(first)(outside)
            assert (special_purpose(neighbour) is None) is is_public, neighbour


@pytest.mark.parametrize("address", METADATA_SERVICES)
def test_metadata_services_are_known_by_name(address: str):
    assert special_purpose(ipaddress.ip_address(address)) == "cloud metadata service"


def test_all_known_metadata_services_are_listed():
    known = {"169.254.169.254", "168.63.129.16", "100.100.100.200", "192.0.0.192", "fd00:ec2::254"}
    assert known <= set(METADATA_SERVICES)
    for neighbour in ("168.63.129.15", "168.63.129.17"):
        assert special_purpose(ipaddress.ip_address(neighbour)) is None


@pytest.mark.parametrize(
    "address",
    ["93.184.216.34", "1.1.1.1", "8.8.8.8", "223.255.255.255", "2606:4700::1111", "2a00:1450::1"],
)
def test_public_addresses_are_public(address: str):
    assert special_purpose(ipaddress.ip_address(address)) is None


CARRIERS = {
    "mapped": lambda v4: f"::ffff:{v4}",
    "NAT64": lambda v4: f"64:ff9b::{v4}",
    "6to4": lambda v4: str(ipaddress.IPv6Address(0x2002 << 112 | int(v4) << 80 | 1)),
    "ISATAP": lambda v4: f"2606:4700::5efe:{v4}",
    "ISATAP, of a public address": lambda v4: f"2606:4700::200:5efe:{v4}",
}


@pytest.mark.parametrize("carrier", CARRIERS)
def test_an_address_that_leads_to_an_ipv4_address_is_judged_by_it(carrier: str):
    for inner in ("127.0.0.1", "10.1.2.3", "169.254.169.254", "192.0.0.192", "224.0.0.1"):
        outer = ipaddress.ip_address(CARRIERS[carrier](ipaddress.IPv4Address(inner)))
        assert inner in (special_purpose(outer) or ""), outer
    public = ipaddress.ip_address(CARRIERS[carrier](ipaddress.IPv4Address("93.184.216.34")))
    assert special_purpose(public) is None


@pytest.mark.parametrize(
    "address", ["::93.184.216.34", "::ffff:0:93.184.216.34", "2001:0:5db8:d822::1"]
)
def test_forms_nobody_serves_from_are_refused_whatever_they_carry(address: str):
    """IPv4-compatible, IPv4-translated and Teredo."""
    assert special_purpose(ipaddress.ip_address(address))


OWN = frozenset(map(ipaddress.ip_address, ("93.184.216.34", "2606:4700::1111")))
POLICY = AddressPolicy(find_own=lambda: OWN)


@pytest.mark.parametrize(
    "address",
    ["93.184.216.34", "2606:4700::1111", "::ffff:93.184.216.34", "64:ff9b::93.184.216.34"],
)
def test_this_machines_public_addresses_are_refused(address: str):
    assert POLICY.refusal(ipaddress.ip_address(address)) == "this machine"
    assert AddressPolicy(find_own=frozenset).refusal(ipaddress.ip_address(address)) is None


def test_the_addresses_of_the_interfaces_are_found():
    assert ipaddress.ip_address("127.0.0.1") in own_addresses()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        assert parse_address(probe.getsockname()[0]) in own_addresses()


def test_a_connection_from_an_address_to_itself_is_this_machine():
    here = ipaddress.ip_address("8.8.8.8")
    assert POLICY.refusal(here) is None
    assert POLICY.peer_refusal(here, local=here) == "this machine"
    assert POLICY.peer_refusal(here, local=ipaddress.ip_address("10.0.0.5")) is None
    assert POLICY.peer_refusal(ipaddress.ip_address("10.0.0.1"), local=here) == "private use"


def test_an_exception_is_for_the_very_network_it_names():
    policy = AddressPolicy(allowed=(ipaddress.ip_network("127.0.0.1/32"),))
    here = ipaddress.ip_address("127.0.0.1")
    assert policy.refusal(here) is None
    assert policy.peer_refusal(here, local=here) is None
    for other in ("127.0.0.2", "::1", "::ffff:127.0.0.1", "10.0.0.1"):
        assert policy.refusal(ipaddress.ip_address(other))


def test_a_zone_is_no_part_of_an_address():
    assert parse_address("fe80::1%eth0") == ipaddress.ip_address("fe80::1")
