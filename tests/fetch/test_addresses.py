import pytest

from crawlerproj.fetch.addresses import refused


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        ("127.0.0.1", "loopback"),
        ("127.8.9.10", "loopback"),
        ("::1", "loopback"),
        ("0.0.0.0", "unspecified"),
        ("::", "unspecified"),
        ("10.1.2.3", "private"),
        ("172.16.0.1", "private"),
        ("192.168.1.1", "private"),
        ("fd00::1", "private"),
        ("fec0::1", "private"),
        ("169.254.169.254", "link_local"),
        ("fe80::1", "link_local"),
        ("224.0.0.1", "multicast"),
        ("ff02::1", "multicast"),
        ("240.0.0.1", "private"),
        ("255.255.255.255", "private"),
        ("100.64.0.1", "reserved"),
        ("::ffff:127.0.0.1", "loopback"),
        ("::ffff:10.0.0.1", "private"),
        ("64:ff9b::7f00:1", "loopback"),
        ("64:ff9b::a9fe:a9fe", "link_local"),
        ("2002:7f00:1::", "loopback"),
        ("2002:a9fe:a9fe::1", "link_local"),
        ("::ffff:7f00:1", "loopback"),
        ("::ffff:169.254.169.254", "link_local"),
        ("fe80::1%eth0", "link_local"),
        ("64:ff9b::ffff:ffff", "private"),
        ("198.18.0.1", "private"),
        ("192.0.2.1", "private"),
        ("2001:db8::1", "private"),
        ("example.com", "not_an_address"),
        ("", "not_an_address"),
    ],
)
def test_an_address_that_is_not_public_is_refused_with_its_reason(address: str, reason: str) -> None:
    assert refused(address) == reason


@pytest.mark.parametrize(
    "address",
    [
        "2001:0:4136:e378:8000:63bf:80ff:fffe",  # Teredo, which carries 127.0.0.1
        "2001::1",
        "64:ff9b:1::7f00:1",  # NAT64 of somebody's own network
        "::127.0.0.1",  # v4-compatible, of old
        "::ffff:0:7f00:1",  # v4-translated
        "100::1",
        "4000::1",
        "5f00::1",
    ],
)
def test_an_address_of_no_use_on_the_public_web_is_refused(address: str) -> None:
    assert refused(address) is not None


@pytest.mark.parametrize(
    "address",
    [
        "93.184.216.34",
        "8.8.8.8",
        "2606:2800:220:1::1",
        "::ffff:8.8.8.8",
        "64:ff9b::808:808",
        "2002:808:808::1",
    ],
)
def test_a_public_address_may_be_contacted(address: str) -> None:
    assert refused(address) is None
