"""Which addresses may be reached (SECURITY-BAR F5)."""

import ipaddress
import socket

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from halo_site.lib.outbound import BadAddress, Rules, parse_place, parse_url
from halo_site.lib.outbound.address import is_public

INSIDE = """
127.0.0.1 127.1.2.3 0.0.0.0 0.1.2.3 10.0.0.1 172.16.0.1 192.168.1.1 169.254.169.254 169.254.1.1 100.64.0.1
100.100.100.200 192.0.0.192 192.0.2.1 198.18.0.1 198.51.100.1 203.0.113.1 224.0.0.1 240.0.0.1 255.255.255.255
168.63.129.16 192.88.99.1 :: ::1 fe80::1 fc00::1 fd00:ec2::254 fec0::1 ff02::1 2001:db8::1 100::1
::ffff:127.0.0.1 ::ffff:7f00:1 ::ffff:169.254.169.254 ::127.0.0.1 64:ff9b::127.0.0.1 64:ff9b::a9fe:a9fe
64:ff9b:1::1 2002:7f00:1:: 2002:a9fe:a9fe:: 2001:0:7f00:1::
"""
OUTSIDE = """
1.1.1.1 8.8.8.8 93.184.216.34 172.15.0.1 172.32.0.1 100.63.0.1 100.128.0.1 2606:4700::1111
"""


@pytest.mark.parametrize("text", INSIDE.split())
def test_F5_inner_addresses_are_not_public(text):
    assert not is_public(ipaddress.ip_address(text))


@pytest.mark.parametrize("text", [*OUTSIDE.split(), "::ffff:8.8.8.8", "64:ff9b::808:808"])
def test_F5_public_addresses_are(text):
    assert is_public(ipaddress.ip_address(text))


@given(st.ip_addresses(v=4))
@example(ipaddress.ip_address("127.0.0.1"))
def test_F5_carried_in_ipv6_an_address_is_no_more_public_than_by_itself(address):
    number = int(address)
    forms = (0xFFFF << 32 | number, 0x0064FF9B << 96 | number, 0x2002 << 112 | number << 80)
    for form in forms:
        if not is_public(address):
            assert not is_public(ipaddress.IPv6Address(form))


SPELLINGS = """
http://2130706433/ http://017700000001/ http://0177.0.0.1/ http://0x7f000001/ http://0x7f.1/ http://127.1/
http://127.0.1/ http://0/ http://00000177.1/ http://127.0.0.1.0x/ http://[::1%25eth0]/ http://[fe80::1%eth0]/
http://[::ffff:127.0.0.1.5]/ http://[]/ http://[127.0.0.1]/ http:///etc/passwd http:/x http:x http://:80/
http://user@127.0.0.1/ http://good.example@127.0.0.1/ http://user:pass@x.example/ http://127.0.0.1%00.example/
http://%31%32%37.0.0.1/ http://a..b/ http://.a/ http://a.example:0/ http://a.example:99999/
http://a.example:8a/ file:///etc/passwd ftp://a.example/ gopher://a.example/ data:text/html,x
javascript:alert(1) dict://a/ ws://a/ //a.example/ a.example
"""


@pytest.mark.parametrize(
    "url",
    [*SPELLINGS.split(), "http://a.example\\@127.0.0.1/", "http://a.example/ x", "http://a\t.example/", "http://a\r\nb/",
     "", "http://a.example/\0", "http://１２７.1/", "http://" + "a" * 9000],
)  # fmt: skip
def test_F5_spellings_that_readers_take_differently_are_refused(url):
    with pytest.raises(BadAddress):
        parse_url(url)


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("http://127.0.0.1./", "127.0.0.1"),
        ("http://１２７.0.0.1/", "127.0.0.1"),
        ("HTTP://LocalHost./x", "localhost"),
        ("http://[::FFFF:7f00:1]/", "::ffff:7f00:1"),
        ("http://[0:0:0:0:0:0:0:1]:80/", "::1"),
    ],
)
def test_F5_one_spelling_per_host(url, host):
    assert parse_url(url).place.host == host


def test_ordinary_addresses_are_read():
    target = parse_url("https://Docs.Example:8443/a/b?c=d#part")
    assert (str(target), target.place.port) == ("https://docs.example:8443/a/b?c=d", 8443)
    assert str(parse_url("http://bücher.example/ä?ö=ü")) == "http://xn--bcher-kva.example/%C3%A4?%C3%B6=%C3%BC"
    assert str(parse_url("https://a.example")) == "https://a.example/"
    assert str(parse_place("[2606:4700::1111]:443")) == "[2606:4700::1111]:443"
    assert str(parse_place("a_b.Example:22")) == "a_b.example:22"


@pytest.mark.parametrize("text", ["", "a", "a:", ":80", "a:0", "a:70000", "a b:80", "u@a:80", "a:8 0", "1:80", "a:-1"])
def test_F5_a_place_is_a_host_and_a_port(text):
    with pytest.raises(BadAddress):
        parse_place(text)


@given(st.text(max_size=60) | st.from_regex(r"https?://[0-9a-fxX.:\[\]@%\\]{1,30}/?", fullmatch=True))
@example("http://0x7f.0.0.1/")
@example("http://[::ffff:0:0]/")
def test_F5_what_the_system_takes_for_an_inner_address_never_passes(url):
    """Whatever spelling: the literal the C library would read from our host is the one we judged."""
    try:
        place = parse_url(url).place
    except BadAddress:
        return
    assert parse_url(url) == parse_url(str(parse_url(url)))
    try:
        theirs = ipaddress.ip_address(socket.inet_ntoa(socket.inet_aton(place.host)))
    except (OSError, ValueError):
        return
    assert place.literal == theirs


def test_the_owner_can_open_addresses_and_ports():
    rules = Rules.read(["10.0.0.0/8", "[fd00::1]:80", "wiki.lan:8080", "nas.lan", ":8443", "192.168.1.5:81", ""])
    inner, own = ipaddress.ip_address("10.1.2.3"), ipaddress.ip_address("192.168.1.5")
    public = ipaddress.ip_address("1.1.1.1")
    assert rules.why_not(parse_place("x.example:9999"), inner) is None
    assert rules.why_not(parse_place("wiki.lan:8080"), own) is None
    assert rules.why_not(parse_place("nas.lan:5"), own) is None
    assert rules.why_not(parse_place("192.168.1.5:81"), own) is None
    assert rules.why_not(parse_place("x.example:8443"), public) is None
    assert "port 8080" in (rules.why_not(parse_place("x.example:8080"), public) or "")
    for place, address in (("wiki.lan:8081", own), ("x.lan:8080", own), ("x.lan:8443", own), ("x.lan:82", own)):
        assert "not a public address" in (rules.why_not(parse_place(place), address) or "")


@pytest.mark.parametrize("entry", ["http://a/", "a b", ":0", ":x", "1.2.3", "10.0.0.0/99", "a@b"])
def test_a_wrong_entry_of_the_list_is_named(entry):
    with pytest.raises(BadAddress):
        Rules.read([entry])
