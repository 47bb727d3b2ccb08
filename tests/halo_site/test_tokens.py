"""Tokens: what is forged, stale or of another kind is worth nothing, on HTTP and on the socket alike."""

import base64
import hashlib
import hmac
import json
import time

import jwt
import pytest
from asgiref.sync import async_to_sync
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from halo_site import auth, tokens
from halo_site.auth import COOKIE, authenticate_scope, identify, new_login, renewed, token_of
from halo_site.tokens import DAY, BadToken, Kind
from tests.accounts import Browser, logged_in, person

SECRETS = ("", "secret", "changeme", "halo", "0" * 32)


def b64(data: bytes | str) -> str:
    raw = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def signed(header: str, payload: str, key: bytes | None = None, digest: str = "sha256") -> str:
    """A token from raw texts, signed with the real login key unless told otherwise."""
    signing = f"{b64(header)}.{b64(payload)}"
    key = tokens._key(Kind.LOGIN) if key is None else key
    return f"{signing}.{b64(hmac.digest(key, signing.encode(), digest))}"


def claims(**changes) -> dict:
    now = int(time.time())
    base = {"sub": "1", "jti": "j", "auth_time": now, "fp": "f" * 32, "aud": "login", "iat": now, "exp": now + DAY}
    merged = base | changes
    return {key: value for key, value in merged.items() if value is not None}


HS256 = '{"alg":"HS256","typ":"JWT"}'


def bad_headers() -> dict[str, str]:
    """Signed with our own key: only the header is wrong."""
    payload = json.dumps(claims())
    headers = {
        **{
            f"alg {alg}": json.dumps({"alg": alg, "typ": "JWT"})
            for alg in ("none", "None", "NONE", "nOnE", "", "hs256")
        },
        "alg list": '{"alg":["HS256"],"typ":"JWT"}',
        "alg missing": '{"typ":"JWT"}',
        "alg null": '{"alg":null,"typ":"JWT"}',
        **{f"alg {alg}": json.dumps({"alg": alg, "typ": "JWT"}) for alg in ("RS256", "ES256", "PS256", "EdDSA")},
        **{
            f"kid {kid!r}": json.dumps({"alg": "HS256", "typ": "JWT", "kid": kid})
            for kid in ("../../dev/null", "' OR 1=1 --", "http://127.0.0.1/key", ["a"])
        },
        "jwk": json.dumps({"alg": "HS256", "typ": "JWT", "jwk": {"kty": "oct", "k": "AAAA"}}),
        "jku": json.dumps({"alg": "HS256", "typ": "JWT", "jku": "http://127.0.0.1/keys"}),
        "x5u": json.dumps({"alg": "HS256", "typ": "JWT", "x5u": "http://127.0.0.1/cert"}),
        "crit": json.dumps({"alg": "HS256", "typ": "JWT", "crit": ["unknown"], "unknown": 1}),
        "b64 false": json.dumps({"alg": "HS256", "typ": "JWT", "b64": False, "crit": ["b64"]}),
        "header list": "[]",
        "header empty": "",
        "header deep": "[" * 200_000,
    }
    made = {name: signed(header, payload) for name, header in headers.items()}
    made["HS512"] = signed('{"alg":"HS512","typ":"JWT"}', payload, digest="sha512")
    made["alg none, no signature"] = f"{b64(json.dumps({'alg': 'none'}))}.{b64(payload)}."
    return made


def bad_payloads() -> dict[str, str]:
    """Signed with our own key and our own header: a leaked key still buys nothing odd."""
    now = int(time.time())
    texts = {
        "list": "[]",
        "text": '"login"',
        "number": "1",
        "empty": "",
        "not json": "{",
        "deep": "[" * 200_000,
        "deep object": '{"a":' * 100_000,
        "exp 1e999": json.dumps(claims(exp="X")).replace('"X"', "1e999"),
        "exp NaN": json.dumps(claims(exp="X")).replace('"X"', "NaN"),
        "exp Infinity": json.dumps(claims(exp="X")).replace('"X"', "Infinity"),
        "exp 5000 digits": json.dumps(claims(exp="X")).replace('"X"', "9" * 5000),
        "exp year 9999": json.dumps(claims(exp=253_402_300_799)),
        "exp float": json.dumps(claims(exp=now + 100.5)),
        "exp text": json.dumps(claims(exp=str(now + 100))),
        "exp true": json.dumps(claims(exp=True)),
        "exp missing": json.dumps(claims(exp=None)),
        "exp past by 1 s": json.dumps(claims(exp=now - 1, iat=now - DAY, auth_time=now - DAY)),
        "exp over the maximum": json.dumps(claims(exp=now + 14 * DAY + 1)),
        "exp negative": json.dumps(claims(exp=-1)),
        "iat missing": json.dumps(claims(iat=None)),
        "iat future": json.dumps(claims(iat=now + 3600)),
        "iat list": json.dumps(claims(iat=[now])),
        "aud missing": json.dumps(claims(aud=None)),
        "aud list": json.dumps(claims(aud=["login"])),
        "aud other": json.dumps(claims(aud="asset")),
        "scope": json.dumps(claims(scope="ext")),
        "scope empty": json.dumps(claims(scope="")),
        "sub missing": json.dumps(claims(sub=None)),
        "sub number": json.dumps(claims(sub=1)),
        "sub text": json.dumps(claims(sub="admin")),
        "sub huge": json.dumps(claims(sub="9" * 30)),
        "sub other digits": json.dumps(claims(sub="١")),
        "jti missing": json.dumps(claims(jti=None)),
        "jti list": json.dumps(claims(jti=["j"])),
        "jti NUL": json.dumps(claims(jti="a\0b")),
        "jti long": json.dumps(claims(jti="j" * 500)),
        "fp missing": json.dumps(claims(fp=None)),
        "fp wrong": json.dumps(claims()),
        "fp not ascii": json.dumps(claims(fp="é" * 32)),
        "auth_time missing": json.dumps(claims(auth_time=None)),
        "auth_time 91 days ago": json.dumps(claims(auth_time=now - 91 * DAY)),
        "auth_time future": json.dumps(claims(auth_time=now + 7200)),
        "lone surrogate": '{"sub":"\\ud800"}',
        "raw surrogate": '{"sub":"\ud800"}',
        "role": json.dumps(claims(is_superuser=True, role="admin")),
    }
    return {name: signed(HS256, payload) for name, payload in texts.items()}


def bad_signatures() -> dict[str, str]:
    payload = json.dumps(claims())
    good = signed(HS256, payload)
    head, body, signature = good.split(".")
    made = {f"signed with {key!r}": signed(HS256, payload, key.encode()) for key in SECRETS}
    made |= {
        "no signature": f"{head}.{body}.",
        "two parts": f"{head}.{body}",
        "four parts": f"{good}.x",
        "signature changed": f"{head}.{body}.{'A' + signature[1:] if signature[0] != 'A' else 'B' + signature[1:]}",
        "payload changed": f"{head}.{b64(json.dumps(claims(sub='2')))}.{signature}",
        "signature not base64": f"{head}.{body}.!!!",
        "raw secret as key": signed(HS256, payload, tokens.secret_bytes(settings.HALO.jwt_secret)),
        "dots": "..",
        "text": "not a token",
        "1 MB": "A" * 1_000_000,
        "1 MB of dots": "." * 1_000_000,
        "three parts of 1 MB": ".".join(["A" * 300_000] * 3),
        "quotes": '"; DROP TABLE',
        "latin": "é.é.é",
    }
    return made


FORGED = {**bad_headers(), **bad_payloads(), **bad_signatures()}


def scope_with(token: str) -> dict:
    return {"type": "websocket", "headers": [(b"cookie", f"{COOKIE}={token}".encode("utf-8", "replace"))]}


def test_A4_there_are_enough_forgeries():
    assert len(FORGED) >= 80


@pytest.mark.parametrize("name", [*bad_headers(), *bad_signatures()])
def test_A4_a_wrong_header_or_signature_is_refused_whatever_the_claims(name):
    with pytest.raises(BadToken):
        tokens.read(Kind.LOGIN, FORGED[name])


@pytest.mark.django_db
@pytest.mark.parametrize("name", FORGED)
def test_A4_C69_forged_tokens_are_refused_with_hardly_a_look_at_the_rows(name, django_assert_max_num_queries):
    looks = 1 if name in bad_payloads() else 0  # those are signed with our key
    person("somebody")
    browser = Browser()
    browser.cookies[COOKIE] = FORGED[name]
    browser.get("/api/health")  # routes are loaded now
    with django_assert_max_num_queries(looks):
        answer = browser.get("/api/workspaces")
    assert (answer.status_code, answer.json()) == (401, {"error": "Unauthorized"})
    assert browser.get("/api/auth/check").status_code == 401
    start = time.process_time()
    with django_assert_max_num_queries(looks):
        assert async_to_sync(authenticate_scope)(scope_with(FORGED[name])) is None
    assert time.process_time() - start < 5  # seconds of work, not of the clock; the bar is 50 ms


@hypothesis_settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.one_of(st.text(max_size=300), st.lists(st.text(max_size=80), min_size=3, max_size=3).map(".".join)))
def test_A4_random_text_is_never_a_token(text):
    for kind in Kind:
        with pytest.raises(BadToken):
            tokens.read(kind, text)


@hypothesis_settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.dictionaries(
        st.sampled_from(["sub", "jti", "auth_time", "fp", "aud", "iat", "exp", "scope"]),
        st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(), st.just("login")),
    )
)
def test_A4_random_claims_under_our_own_signature_never_raise_anything_else(values):
    token = jwt.encode(values, tokens._key(Kind.LOGIN), algorithm="HS256") if not set(values) & {"exp", "iat"} else None
    token = token or signed(HS256, json.dumps(values))
    try:
        tokens.read(Kind.LOGIN, token)
    except BadToken:
        pass


@pytest.mark.parametrize("kind", Kind)
@pytest.mark.parametrize("acceptor", Kind)
def test_A5_a_token_passes_only_where_its_kind_belongs(kind, acceptor):
    token = tokens.issue(kind, {"sub": "1"}, life=60)
    if kind is acceptor:
        assert tokens.read(acceptor, token)["sub"] == "1"
    else:
        with pytest.raises(BadToken):
            tokens.read(acceptor, token)


def test_A5_every_kind_has_a_key_of_its_own():
    keys = {tokens._key(kind) for kind in Kind}
    assert len(keys) == len(Kind)
    assert all(len(key) == 32 for key in keys)


@pytest.mark.django_db
@pytest.mark.parametrize("kind", [kind for kind in Kind if kind is not Kind.LOGIN])
def test_A5_a_scoped_token_is_never_a_login(kind):
    login = new_login(person())
    values = {"sub": "1", "jti": login.jti, "auth_time": login.typed, "fp": login.fingerprint}
    token = tokens.issue(kind, values, life=60)
    browser = Browser()
    browser.cookies[COOKIE] = token
    assert browser.get("/api/workspaces").status_code == 401
    assert async_to_sync(authenticate_scope)(scope_with(token)) is None


def test_a_token_is_not_issued_beyond_the_life_of_its_kind():
    with pytest.raises(ValueError, match="live at most"):
        tokens.issue(Kind.ASSET, {}, life=2 * DAY)


@pytest.mark.django_db
def test_a_good_token_names_the_person_on_http_and_on_the_socket():
    user = person()
    token = token_of(new_login(user))
    assert identify({COOKIE: token}).caller.user_id == user.pk
    assert async_to_sync(authenticate_scope)(scope_with(token)).username == "anna"
    assert async_to_sync(authenticate_scope)({"headers": []}) is None


@pytest.mark.django_db
def test_A6_renewals_end_90_days_after_the_password_was_typed():
    login = new_login(person())
    now = login.typed
    last = None
    while (fresh := renewed(login, now=now + 2 * DAY)) is not None:
        now += 2 * DAY
        login = fresh
        assert identify({COOKIE: token_of(login)}, now=now) is not None
        last = login
    assert now - last.typed < 90 * DAY
    assert last.jti == login.jti
    token = token_of(last)
    assert identify({COOKIE: token}, now=last.typed + 90 * DAY - 1) is not None
    assert identify({COOKIE: token}, now=last.typed + 90 * DAY) is None


@pytest.mark.django_db
def test_a_cookie_ends_after_14_days_without_a_visit():
    login = new_login(person())
    token = token_of(login)
    assert identify({COOKIE: token}, now=login.issued + 14 * DAY - 1) is not None
    assert identify({COOKIE: token}, now=login.issued + 14 * DAY) is None


@pytest.mark.django_db
@pytest.mark.parametrize(("hours", "fresh"), [(1, False), (23, False), (25, True)])
def test_a_cookie_is_renewed_after_a_day_and_not_before(hours, fresh, monkeypatch):
    user = person()
    login = new_login(user, now=time.time() - hours * 3600)
    browser = Browser()
    browser.cookies[COOKIE] = token_of(login)
    for path in ("/api/workspaces", "/api/auth/check"):
        answer = browser.get(path)
        assert answer.status_code == 200
        assert (COOKIE in answer.cookies) is fresh
        browser.cookies[COOKIE] = token_of(login)
    if fresh:
        renewed_login = identify({COOKIE: answer.cookies[COOKIE].value})
        assert (renewed_login.jti, renewed_login.typed) == (login.jti, login.typed)
        assert answer.cookies[COOKIE]["httponly"]


@pytest.mark.django_db
def test_revocations_are_forgotten_once_their_tokens_have_ended():
    from halo_site.models import RevokedToken

    login = new_login(person())
    auth.revoke(login)
    auth.revoke(login)
    assert auth.forget_expired_revocations() == 0
    assert auth.forget_expired_revocations(now=login.typed + 105 * DAY) == 1
    assert not RevokedToken.objects.exists()


@pytest.mark.parametrize(
    "secret",
    [
        "",
        "secret",
        "changeme",
        "changeme" * 4,
        "A" * 64,
        base64.b64encode(b"\0" * 32).decode(),
        base64.b64encode(b"ab" * 16).decode(),
        base64.b64encode(hashlib.sha256(b"x").digest()[:31]).decode(),
    ],
)
def test_L3_C69_a_weak_signing_key_is_refused(secret):
    with pytest.raises(ImproperlyConfigured, match="jwt_secret"):
        tokens.check_secret(secret)


def test_L3_a_random_signing_key_is_fine():
    tokens.check_secret(base64.b64encode(hashlib.sha256(b"random").digest()).decode())
    tokens.check_secret(hashlib.sha256(b"random").hexdigest())


@pytest.mark.django_db
def test_a_real_login_passes_with_the_very_same_claims_the_forgeries_use():
    """Without this the table above could pass because everything is refused."""
    user = person()
    login = new_login(user)
    payload = claims(sub=str(user.pk), jti=login.jti, fp=login.fingerprint)
    browser = logged_in(user)
    browser.cookies[COOKIE] = signed(HS256, json.dumps(payload))
    assert browser.get("/api/workspaces").status_code == 200
