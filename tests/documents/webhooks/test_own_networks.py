"""Receivers in a network of the operator's: what WEBHOOK_PRIVATE_NETWORKS opens, and what never."""

import ipaddress
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from documents.webhooks import endpoints
from documents.webhooks.sending import Sender
from ragsite.access.addresses import METADATA_SERVICES, AddressPolicy

from .conftest import Receiver


@pytest.fixture
def configured(settings: Any) -> Iterator[Callable[..., Sender]]:
    """Builds the sender as a process does that starts with these networks and any port."""

    def build(*networks: str) -> Sender:
        settings.WEBHOOKS = {
            **settings.WEBHOOKS,
            "ports": range(1, 65536),
            "allow_http": True,
            "private_networks": [ipaddress.ip_network(network) for network in networks],
        }
        BUILD_SENDER.cache_clear()
        return BUILD_SENDER()

    yield build
    BUILD_SENDER.cache_clear()


BUILD_SENDER = endpoints.sender  # the fixture `receiver` puts another in its place


def test_only_the_network_that_is_named_is_sent_to(
    receiver: Receiver, configured: Callable[..., Sender]
):
    for networks in ((), ("127.0.0.2/32",), ("10.0.0.0/8",)):
        refused = configured(*networks).post(receiver.url, b"{}", {})
        assert (refused.status, refused.error_code) == (None, "url_refused"), networks
    assert receiver.received == []
    assert configured("127.0.0.1/32").post(receiver.url, b"{}", {}).is_accepted
    assert [one.body for one in receiver.received] == [b"{}"]


def test_a_public_name_that_resolves_to_a_private_address_is_refused(
    receiver: Receiver, configured: Callable[..., Sender]
):
    options = configured("127.0.0.1/32")
    port = receiver.url.split(":")[2].split("/")[0]
    for addresses, is_sent in (
        (["10.1.2.3"], False),
        (["127.0.0.1", "10.1.2.3"], False),  # one of them is enough
        (["127.0.0.1"], True),
    ):
        told = [ipaddress.ip_address(address) for address in addresses]
        sender = Sender(
            ports=options.ports,
            allow_http=True,
            policy=options.policy,
            resolver=lambda host, port, told=told: told,  # type: ignore[misc]
        )
        outcome = sender.post(f"http://hooks.example.com:{port}/", b"{}", {})
        assert outcome.is_accepted is is_sent, addresses
        if not is_sent:
            assert outcome.error_code == "url_refused"
    assert len(receiver.received) == 1


@pytest.mark.parametrize("service", METADATA_SERVICES)
def test_no_network_opens_a_metadata_service(service: str):
    everything = AddressPolicy(
        allowed=(ipaddress.ip_network("0.0.0.0/0"), ipaddress.ip_network("::/0"))
    )
    address = ipaddress.ip_address(service)
    assert everything.refusal(address)
    if isinstance(address, ipaddress.IPv4Address):
        for prefix in ("::ffff:", "64:ff9b::"):  # IPv4-mapped, NAT64
            assert everything.refusal(ipaddress.ip_address(f"{prefix}{service}"))
    assert everything.refusal(ipaddress.ip_address("10.1.2.3")) is None


def started(**environment: str) -> subprocess.CompletedProcess[str]:
    code = (
        "from ragsite.settings import WEBHOOKS as found\n"
        "print(sorted(found['ports']), *found['private_networks'])"
    )
    plain = {name: value for name, value in os.environ.items() if not name.startswith("WEBHOOK_")}
    return subprocess.run(
        [sys.executable, "-c", code],
        env={**plain, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def test_nothing_private_is_open_by_default_and_what_is_named_is_read():
    assert started().stdout.strip() == "[80, 443]"
    named = started(WEBHOOK_PRIVATE_NETWORKS="10.1.2.3/32, fd12::/64", WEBHOOK_PORTS="443, 8443")
    assert named.stdout.strip() == "[443, 8443] 10.1.2.3/32 fd12::/64"


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("WEBHOOK_PRIVATE_NETWORKS", "169.254.0.0/16", "holds the metadata service"),
        ("WEBHOOK_PRIVATE_NETWORKS", "10.0.0.0/8,0.0.0.0/0", "holds the metadata service"),
        ("WEBHOOK_PRIVATE_NETWORKS", "fd00::/8", "holds the metadata service"),
        ("WEBHOOK_PRIVATE_NETWORKS", "10.0.0.1/8", "has host bits set"),
        ("WEBHOOK_PRIVATE_NETWORKS", "intranet", "does not appear to be"),
        ("WEBHOOK_PORTS", "443,https", "numbers from 1 to 65535"),
        ("WEBHOOK_PORTS", "0", "numbers from 1 to 65535"),
        ("WEBHOOK_SECONDS", "60", "at most 15"),
        ("WEBHOOK_DAYS", "0", "at least 1"),
        ("WEBHOOK_DISABLE_DAYS", "-1", "at least 1"),
    ],
)
def test_a_setting_that_is_not_one_stops_the_start(name: str, value: str, sentence: str):
    refused = started(**{name: value})
    assert refused.returncode != 0
    last = refused.stderr.strip().splitlines()[-1]
    assert "ImproperlyConfigured" in last
    assert name in last
    assert sentence in last
