"""Other sites in the same browser: they can neither act with the login nor read with it."""

from dataclasses import replace

import pytest
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.http.request import split_domain_port, validate_host
from django.test import Client

from halo_site.lib.env import Env
from halo_site.lib.hosts import AnsweredHosts, host_allowed, own_names, split_host
from halo_site.lib.origins import origin_allowed, parse_origin
from halo_site.middleware.hosts import scope_host_allowed
from halo_site.middleware.origin import decide, scope_origin_allowed
from tests.accounts import HOST, ORIGIN, logged_in, owner, person
from workspaces_app.models import UserPrefs

OWN = "http://localhost:9527"
FOREIGN = {
    "null": "null",
    "other scheme": "https://localhost:9527",
    "other port": "http://localhost:9528",
    "no port": "http://localhost",
    "sub-domain": "http://evil.localhost:9527",
    "suffix": "http://localhost.evil:9527",
    "evil host": "http://localhost:9527.evil",
    "user info": "http://localhost:9527@evil.example",
    "user info of ours": "http://evil.example@localhost:9527",
    "path": "http://localhost:9527/",
    "two": "http://localhost:9527, http://evil.example",
    "two of ours": "http://localhost:9527,http://localhost:9527",
    "empty": "",
    "file": "file://",
    "extension": "chrome-extension://localhost:9527",
    "ws": "ws://localhost:9527",
    "backslash": "http://localhost:9527\\.evil.example",
    "loopback by number": "http://127.0.0.1:9527",
    "decimal": "http://2130706433:9527",
    "fragment": "http://localhost:9527#evil",
    "space": "http://localhost :9527",
    "tab": "http://localhost\t:9527",
    "NUL": "http://localhost\0:9527",
    "dot": "http://localhost..:9527",
    "unicode": "http://lоcalhost:9527",
    "huge port": "http://localhost:95270000000",
    "port sign": "http://localhost:+9527",
    "ipv6": "http://[::1]:9527",
    "bracket": "http://[localhost]:9527",
    "no scheme": "localhost:9527",
    "two slashes": "//localhost:9527",
    "javascript": "javascript:alert(1)",
    "data": "data:text/html,x",
}


@pytest.mark.parametrize("name", FOREIGN)
def test_B1_a_foreign_origin_is_not_ours(name):
    assert not origin_allowed(FOREIGN[name], scheme="http", host=HOST)


@pytest.mark.parametrize(
    ("origin", "scheme", "host"),
    [
        (OWN, "http", HOST),
        ("HTTP://LOCALHOST:9527", "http", HOST),
        ("http://halo.example", "http", "halo.example"),
        ("http://halo.example", "http", "halo.example:80"),
        ("https://halo.example", "https", "halo.example:443"),
        ("https://halo.example:443", "wss", "halo.example"),
        ("http://[::1]:9527", "ws", "[::1]:9527"),
        ("http://halo.example.:9527", "http", "halo.example:9527"),
    ],
)
def test_B1_our_own_origin_is_ours(origin, scheme, host):
    assert origin_allowed(origin, scheme=scheme, host=host)


def patch_prefs(browser: Client, **headers: str):
    return browser.patch("/api/auth/prefs", '{"theme":"light"}', content_type="application/json", headers=headers)


@pytest.mark.django_db
@pytest.mark.parametrize("name", [name for name in FOREIGN if not set("\t\0") & set(FOREIGN[name])])
def test_B1_an_unsafe_request_from_elsewhere_is_refused(name):
    browser = logged_in(person())
    answer = patch_prefs(browser, origin=FOREIGN[name])
    assert answer.status_code == 403
    assert "error" in answer.json()
    assert not UserPrefs.objects.exists()


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 403),
        ({"sec-fetch-site": "same-origin"}, 200),
        ({"sec-fetch-site": "none"}, 200),
        ({"sec-fetch-site": "same-site"}, 403),
        ({"sec-fetch-site": "cross-site"}, 403),
        ({"origin": ORIGIN}, 200),
        ({"origin": ORIGIN, "sec-fetch-site": "cross-site"}, 200),
        ({"origin": "https://localhost:9527", "sec-fetch-site": "same-origin"}, 200),  # TLS ended before us
        ({"origin": "http://evil.example", "sec-fetch-site": "same-origin"}, 403),
        ({"x-token": "anything"}, 403),  # a header token does not lift the check from a cookie
    ],
)
def test_B1_with_a_login_cookie_the_browser_must_vouch_for_the_page(headers, status):
    known = logged_in(person())
    browser = Client(enforce_csrf_checks=True, headers={"host": HOST})
    browser.cookies = known.cookies
    assert patch_prefs(browser, **headers).status_code == status


@pytest.mark.django_db
def test_B1_calls_with_a_header_token_and_no_cookie_are_exempt():
    browser = Client(enforce_csrf_checks=True, headers={"host": HOST})
    answer = patch_prefs(browser, origin="http://page.example", **{"x-token": "abc"})
    assert answer.status_code == 401  # past the origin check, stopped at the login


def test_B1_a_program_without_a_cookie_may_log_in():
    assert decide(None, None, scheme="http", host=HOST, with_login=False)
    assert not decide(None, None, scheme="http", host=HOST, with_login=True)


@pytest.mark.django_db
@pytest.mark.parametrize(
    "kind",
    [
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "",
        "text/json",
        "application/json; charset=utf-16",
    ],
)
def test_B1_json_under_another_type_is_refused(kind):
    browser = logged_in(person())
    answer = browser.patch("/api/auth/prefs", '{"theme":"light"}', content_type=kind)
    assert (answer.status_code, answer.json()) == (415, {"error": "Content-Type must be application/json"})
    assert not UserPrefs.objects.exists()


@pytest.mark.django_db
@pytest.mark.parametrize("kind", ["application/json", "Application/JSON", "application/json; charset=UTF-8"])
def test_json_is_json(kind):
    assert logged_in(person()).patch("/api/auth/prefs", '{"theme":"light"}', content_type=kind).status_code == 200


def socket_scope(*headers: tuple[str, str], cookie: bool = True, scheme: str = "ws") -> dict:
    base = [("host", HOST)] + ([("cookie", "halo_token=x")] if cookie else [])
    return {
        "type": "websocket",
        "scheme": scheme,
        "client": ["127.0.0.1", 5],
        "headers": [(name.encode(), value.encode("latin1", "replace")) for name, value in [*base, *headers]],
    }


@pytest.mark.parametrize("name", FOREIGN)
def test_B2_a_socket_from_elsewhere_is_refused(name):
    assert not scope_origin_allowed(socket_scope(("origin", FOREIGN[name])))


def test_B2_a_socket_from_our_page_is_let_in():
    assert scope_origin_allowed(socket_scope(("origin", OWN)))
    assert scope_origin_allowed(socket_scope(("origin", "https://localhost:9527"), scheme="wss"))
    assert not scope_origin_allowed(socket_scope())
    assert scope_origin_allowed(socket_scope(cookie=False))
    assert not scope_origin_allowed(socket_scope(("origin", OWN), ("origin", "http://evil.example")))


def test_B2_listed_origins_may_open_a_socket(settings):
    settings.HALO = replace(settings.HALO, cors_origins=("https://app.example",))
    assert scope_origin_allowed(socket_scope(("origin", "https://app.example")))
    assert not scope_origin_allowed(socket_scope(("origin", "https://app.example.evil")))


UNKNOWN_HOSTS = [
    "evil.example",
    "localhost.evil",
    "localhost@evil",
    "",
    "halo.example",
    "local host",
    "a,b",
    "[::1",
    "localhost:x",
    "localhost:99999",
    "127.0.0.1.evil",
    "rebind.network:9527",
    "локалхост",
    "localhost/x",
]


@pytest.mark.django_db
@pytest.mark.parametrize("host", UNKNOWN_HOSTS)
def test_B3_an_unknown_host_is_refused(host):
    for path in ("/api/auth/check", "/admin/login/", "/api/health"):
        answer = Client(enforce_csrf_checks=True).get(path, headers={"host": host})
        assert answer.status_code == 400
        assert "HALO_HOSTS" in answer.json()["error"]
    assert not scope_host_allowed({"headers": [(b"host", host.encode())]})


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST:9527", "127.0.0.1:9527", "10.1.2.3", "[::1]:9527", "[fe80::1]", "localhost."]
)
def test_B3_localhost_and_addresses_are_known(host):
    assert host_allowed(host)


def test_B3_the_machine_knows_its_own_names_and_what_the_operator_lists():
    assert all(host_allowed(name) for name in own_names())
    assert host_allowed("halo.example:8080", ["halo.example"])
    assert host_allowed("a.team.example", [".team.example"])
    assert host_allowed("team.example", [".team.example"])
    assert not host_allowed("evilteam.example", [".team.example"])
    assert not host_allowed("a.halo.example", ["halo.example"])
    assert split_host("[::1]:80") == ("::1", 80)


@pytest.mark.django_db
def test_B3_djangos_own_check_says_the_same():
    names = [AnsweredHosts(["halo.example", ".sub.example"])]
    known = ("localhost", "127.0.0.1", "[::1]", "HALO.example", "a.sub.example", "192.168.1.20")
    assert all(validate_host(split_domain_port(host)[0], names) for host in known)
    foreign = ("evil.example", "halo.example.evil", "*", "names that are known", "")
    assert not any(validate_host(host, names) for host in foreign)
    assert any(isinstance(name, AnsweredHosts) for name in settings.ALLOWED_HOSTS)
    assert "*" not in settings.ALLOWED_HOSTS


def test_B3_a_forwarded_host_is_never_looked_at():
    answer = Client(enforce_csrf_checks=True).get(
        "/api/auth/check", headers={"host": HOST, "x-forwarded-host": "evil.example"}
    )
    assert answer.status_code == 401
    answer = Client(enforce_csrf_checks=True).get(
        "/api/auth/check", headers={"host": "evil.example", "x-forwarded-host": HOST}
    )
    assert answer.status_code == 400


@pytest.mark.django_db
@pytest.mark.parametrize("target", ["//evil.example", "https://evil.example", "/\\evil.example", "http:evil.example"])
def test_B3_the_staff_login_leads_nowhere_else(target):
    owner()
    browser = logged_in(owner("root"))
    browser.cookies.clear()
    csrf = browser.get("/admin/login/").cookies["csrftoken"].value
    form = f"username=admin&password=correct+horse+1&csrfmiddlewaretoken={csrf}&next={target}"
    answer = browser.post(f"/admin/login/?next={target}", form, "application/x-www-form-urlencoded")
    assert answer.status_code == 302
    assert "evil" not in answer["Location"]


def get_from(origin: str, path: str = "/api/workspaces", method: str = "GET", **headers: str):
    browser = logged_in(person())
    return browser.generic(method, path, headers={"origin": origin, **headers})


@pytest.mark.django_db
def test_B4_without_a_list_any_origin_reads_but_never_with_the_login():
    answer = get_from("https://page.example")
    assert answer["Access-Control-Allow-Origin"] == "https://page.example"
    assert "Access-Control-Allow-Credentials" not in answer
    assert "Origin" in answer["Vary"]
    for odd in ("null", "*", "http://a b", "https://x@y"):
        assert "Access-Control-Allow-Origin" not in patch_prefs(logged_in(person(f"u{len(odd)}{odd[:1]}")), origin=odd)


@pytest.mark.django_db
def test_B4_with_a_list_only_those_origins_read_with_the_login(settings):
    settings.HALO = replace(settings.HALO, cors_origins=("https://app.example",))
    listed = get_from("https://app.example")
    assert listed["Access-Control-Allow-Origin"] == "https://app.example"
    assert listed["Access-Control-Allow-Credentials"] == "true"
    browser = logged_in(person("bert"))
    for origin in ("https://evil.example", "https://app.example.evil", "http://app.example", "null"):
        answer = browser.get("/api/workspaces", headers={"origin": origin})
        assert "Access-Control-Allow-Origin" not in answer
        assert "Access-Control-Allow-Credentials" not in answer
        assert "Origin" in answer["Vary"]
    assert patch_prefs(browser, origin="https://app.example").status_code == 200
    assert patch_prefs(browser, origin="https://evil.example").status_code == 403


@pytest.mark.django_db
def test_B4_a_preflight_is_answered_without_a_login_and_changes_nothing():
    browser = Client(enforce_csrf_checks=True, headers={"host": HOST})
    answer = browser.options(
        "/api/auth/prefs", headers={"origin": "https://page.example", "access-control-request-method": "PATCH"}
    )
    assert answer.status_code == 204
    assert "PATCH" in answer["Access-Control-Allow-Methods"]
    assert "x-token" in answer["Access-Control-Allow-Headers"]
    assert answer["Access-Control-Max-Age"] == "86400"
    assert "Access-Control-Allow-Credentials" not in answer


def test_B4_a_star_in_the_list_stops_the_start():
    with pytest.raises(ImproperlyConfigured, match="HALO_CORS_ORIGINS"):
        Env.read({"HALO_HOME": "/tmp/x", "HALO_CORS_ORIGINS": "https://a.example,*"})


def directives(answer) -> dict[str, list[str]]:
    policy = answer["Content-Security-Policy"]
    return {name: rest for name, *rest in (part.split() for part in policy.split(";") if part.strip())}


@pytest.mark.django_db
@pytest.mark.parametrize(("path", "unsafe_eval"), [("/admin/login/", True), ("/api/docs", False), ("/api/none", False)])
def test_B5_pages_allow_no_foreign_script(path, unsafe_eval):
    answer = logged_in(owner()).get(path)
    found = directives(answer)
    if answer["Content-Type"].startswith("application/json"):
        assert found["default-src"] == ["'none'"]
    else:
        assert found["script-src"] == (["'self'", "'unsafe-eval'"] if unsafe_eval else ["'self'"])
        assert found["img-src"] == ["'self'", "data:", "blob:"]
        assert found["connect-src"] == ["'self'"]
        assert found["object-src"] == found["base-uri"] == ["'none'"]
        assert found["frame-ancestors"] == ["'self'"]
    assert answer["X-Content-Type-Options"] == "nosniff"
    # plain forms need an Origin, which `no-referrer` would blank; `same-origin` tells other sites just as little
    assert answer["Referrer-Policy"] == ("same-origin" if unsafe_eval else "no-referrer")
    assert answer["X-DNS-Prefetch-Control"] == "off"


@pytest.mark.django_db
def test_B5_our_pages_hold_no_inline_script():
    import re

    browser = logged_in(owner())
    for path in ("/api/docs", "/admin/login/"):
        page = browser.get(path).content.decode()
        scripts = re.findall(r"<script(?![^>]*\bsrc=)([^>]*)>", page)
        assert all("application/json" in attributes for attributes in scripts), path


def test_an_origin_is_parsed_strictly():
    assert parse_origin("https://Halo.Example") == ("https", "halo.example", 443)
    assert parse_origin("https://halo.example:0") == ("https", "halo.example", 0)
    assert parse_origin("https://") is None
