"""C71: which address is held responsible when a proxy stands in front."""

from dataclasses import replace

import pytest

from halo_site.lib.env import Env
from halo_site.lib.proxies import client_address, forwarded_scheme
from halo_site.middleware.peer import scope_peer, trust_proxy
from tests.accounts import Browser, person

CASES = [
    # peer, header, trusted list, -> address
    ("127.0.0.1", "203.0.113.9", (), "203.0.113.9"),
    ("127.0.0.1", "", (), "127.0.0.1"),
    ("127.0.0.1", "1.1.1.1, 203.0.113.9", (), "203.0.113.9"),  # the left part can be forged
    ("127.0.0.1", "1.1.1.1, 203.0.113.9, 127.0.0.1", (), "203.0.113.9"),
    ("172.18.0.2", "203.0.113.9", (), "203.0.113.9"),  # no list: the peer is the proxy
    ("172.18.0.2", "203.0.113.9", ("10.0.0.0/8",), "172.18.0.2"),  # a list, and the peer is not on it
    ("10.0.0.7", "1.1.1.1, 203.0.113.9, 10.0.0.8", ("10.0.0.0/8",), "203.0.113.9"),
    ("10.0.0.7", "10.0.0.9, 10.0.0.8", ("10.0.0.0/8",), "10.0.0.9"),
    ("127.0.0.1", "nonsense", (), "127.0.0.1"),
    ("127.0.0.1", "1.1.1.1, nonsense", (), "127.0.0.1"),
    ("127.0.0.1", "[2001:db8::1]:443", (), "2001:db8::1"),
    ("127.0.0.1", "203.0.113.9:5555", (), "203.0.113.9"),
    ("127.0.0.1", "::ffff:203.0.113.9", (), "203.0.113.9"),
    ("127.0.0.1", ", , ", (), "127.0.0.1"),
    ("127.0.0.1", "1.1.1.1," * 10_000 + "203.0.113.9", (), "203.0.113.9"),
]


@pytest.mark.parametrize(("peer", "header", "trusted", "expected"), CASES)
def test_C71_the_list_is_read_from_the_right_past_trusted_hops(peer, header, trusted, expected):
    assert client_address(peer, header, trust_proxy=True, trusted=trusted) == expected


@pytest.mark.parametrize(("peer", "header", "trusted", "expected"), CASES)
def test_C71_without_trust_the_header_is_ignored(peer, header, trusted, expected):
    assert client_address(peer, header, trust_proxy=False, trusted=trusted) == peer


def test_the_scheme_follows_the_proxy_only_when_trusted():
    assert forwarded_scheme("http", "https", trust_proxy=True) == "https"
    assert forwarded_scheme("ws", "https", trust_proxy=True) == "wss"
    assert forwarded_scheme("http", "https", trust_proxy=False) == "http"
    assert forwarded_scheme("http", "gopher", trust_proxy=True) == "http"


def test_a_wrong_entry_in_the_list_of_proxies_stops_the_start():
    from django.core.exceptions import ImproperlyConfigured

    with pytest.raises(ImproperlyConfigured, match="HALO_TRUSTED_PROXIES"):
        Env.read({"HALO_HOME": "/tmp/x", "HALO_TRUSTED_PROXIES": "10.0.0.0/8,proxy"})


@pytest.fixture
def trusting(settings):
    file = settings.HALO.secrets_dir / "settings.yaml"
    file.write_text("general: {server: {trust_proxy: true}}\n")
    yield file
    file.unlink()


@pytest.mark.django_db
def test_A1_behind_a_trusted_proxy_each_client_has_its_own_count(trusting):
    person("anna")
    browser = Browser()

    def wrong(address, name):
        body = {"username": name, "password": "no"}
        return browser.post("/api/auth/login", body, headers={"x-forwarded-for": address}).status_code

    assert [wrong("203.0.113.1", f"a{n}") for n in range(6)] == [401] * 5 + [429]
    assert wrong("203.0.113.2", "b") == 401
    assert wrong("9.9.9.9, 203.0.113.1", "c") == 429  # a forged left part changes nothing


@pytest.mark.django_db
def test_behind_a_trusted_tls_proxy_the_cookie_is_secure_and_the_origin_https(trusting):
    person("anna")
    browser = Browser()
    body = {"username": "anna", "password": "correct horse 1"}
    headers = {"x-forwarded-proto": "https", "origin": "https://localhost:9527"}
    assert browser.post("/api/auth/login", body, headers=headers).status_code == 200
    assert browser.cookies["halo_token"]["secure"]


def test_the_option_is_read_anew_when_its_file_changes(trusting):
    assert trust_proxy() is True
    trusting.write_text("general: {server: {trust_proxy: false}}\n")
    assert trust_proxy() is False
    trusting.write_text("general: [broken\n")
    assert trust_proxy() is False


def test_a_socket_scope_has_an_address_and_a_scheme(trusting, settings):
    settings.HALO = replace(settings.HALO, trusted_proxies=("127.0.0.1",))
    scope = {
        "scheme": "ws",
        "client": ["127.0.0.1", 1],
        "headers": [(b"x-forwarded-for", b"203.0.113.5"), (b"x-forwarded-proto", b"https")],
    }
    assert scope_peer(scope) == ("203.0.113.5", "wss")
