"""Addresses that are refused for what they say, without asking anybody what they mean."""

import pytest

from documents.intake.fetching import Fetcher
from documents.intake.web_addresses import FetchRefused
from ragsite.access.addresses import Address

from .test_fetching import LIMIT, LOOPBACK_TOO


def no_lookup(host: str, port: int) -> list[Address]:
    raise AssertionError(f"{host} was looked up")


@pytest.mark.parametrize(
    "url",
    [
        "ftp://x/",
        "file:///etc/passwd",
        "gopher://x",
        "http://",
        "",
        "x",
        "http://a:b@x/",
        "http://a@x/",
        "http://x\\@127.0.0.1/",
        "http://[",
        "http://exa mple.com/",
        "http://x%2ecom/",
        "http://x\r\nHost: y/",
        "http://a..b/",
        "http://.a/",
        "http://" + "a" * 64 + ".com/",
        "http://" + "a." * 130 + "com/",
        # numbers that a resolver takes for addresses
        "http://2130706433/",
        "http://0x7f000001/",
        "http://0x7f.1/",
        "http://0177.0.0.1/",
        "http://127.1/",
        "http://127.0.0.01/",
        "http://0/",
        "http://1.2.3.4.5/",
        "http://１２７.０.０.１/",
        "http://①②⑦.⓪.⓪.①/",
        # zones
        "http://[fe80::1%25eth0]/",
        "http://[fe80::1%eth0]/",
        # names of this machine and this network
        "http://localhost/",
        "http://LOCALHOST./",
        "http://a.localhost/",
        "http://localhost.localdomain/",
        "http://printer.local/",
        "http://metadata.google.internal/",
        "http://router.home.arpa/",
        # other ports
        "http://example.com:22/",
        "http://example.com:0/",
        "http://example.com:6379/",
        "https://example.com:8443/",
        "http://example.com:99999/",
    ],
)
def test_what_is_no_public_web_address_is_refused_before_it_is_looked_up(url: str):
    with pytest.raises(FetchRefused):
        Fetcher(max_bytes=LIMIT, policy=LOOPBACK_TOO, resolver=no_lookup).fetch(url)
