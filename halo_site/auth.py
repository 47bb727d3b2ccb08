"""From the cookies of a request or socket to a Caller: the one place that says who somebody is.

Two cookies count: `halo_token` (our login, a signed token bound to the user's password and roles) and Django's admin
session. Rights are read from the database at each request, never from the token. Every look-up is one query and
changes nothing.
"""

import hashlib
import hmac
import secrets
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, cast

from asgiref.sync import sync_to_async
from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.auth.models import User
from django.contrib.sessions.backends.db import SessionStore
from django.db import close_old_connections, connection
from django.db.models import Exists, OuterRef, Subquery
from django.http import HttpResponseBase
from django.http.cookie import parse_cookie

from halo_site.lib.db import DbThreads
from halo_site.lib.prepared import Param, Select
from workspaces_app.access import Caller

from . import tokens
from .models import LoginRound, RevokedToken
from .tokens import DAY, BadToken, Kind

COOKIE = "halo_token"
LIFE = 14 * DAY  # of a cookie
RENEW_AFTER = DAY  # seconds after which a request gets a fresh cookie
LONGEST = 90 * DAY  # after the password was typed, renewals end (SECURITY-BAR A6)


@dataclass(frozen=True, slots=True)
class Login:
    """A person, and the login that says so. `jti` is empty for a Django admin session, which renews itself."""

    caller: Caller
    jti: str = ""
    issued: int = 0  # Unix seconds
    typed: int = 0  # when the password was typed; renewals keep it
    fingerprint: str = ""


def new_login(user: User, now: float | None = None) -> Login:
    """The password was right just now."""
    moment = int(time.time() if now is None else now)
    number = LoginRound.objects.filter(user=user.pk).values_list("number", flat=True).first()
    return Login(Caller.of(user), secrets.token_urlsafe(16), moment, moment, fingerprint(user, number))


def renewed(login: Login, now: float | None = None) -> Login | None:
    """The same login with a fresh start, when it is old enough for that; else None."""
    moment = int(time.time() if now is None else now)
    if not login.jti or moment - login.issued < RENEW_AFTER or moment >= login.typed + LONGEST:
        return None
    return replace(login, issued=moment)


def token_of(login: Login) -> str:
    claims = {
        "sub": str(login.caller.user_id),
        "jti": login.jti,
        "auth_time": login.typed,
        "fp": login.fingerprint,
    }
    life = min(LIFE, login.typed + LONGEST - login.issued)
    return tokens.issue(Kind.LOGIN, claims, life=life, now=login.issued)


def set_login_cookie(response: HttpResponseBase, login: Login, *, https: bool) -> None:
    life = min(LIFE, login.typed + LONGEST - login.issued)
    response.set_cookie(COOKIE, token_of(login), max_age=life, path="/", secure=https, httponly=True, samesite="Lax")


def clear_login_cookie(response: HttpResponseBase, *, https: bool) -> None:
    """With the same attributes it was set with, so that every browser drops it."""
    response.set_cookie(COOKIE, "", max_age=0, path="/", secure=https, httponly=True, samesite="Lax")


def fingerprint(user: User, number: int | None) -> str:
    """Changes with the password, the roles and the round of logins: then every login from before ends."""
    parts = [user.get_session_auth_hash(), str(user.is_superuser), str(user.is_staff)]
    if number is not None:
        parts.append(f"round {number}")
    if user.username == "admin":
        parts.append(settings.HALO.password)
    key = tokens.derived_key("login fingerprint")
    return hmac.new(key, "\0".join(parts).encode(), hashlib.sha256).hexdigest()[:32]


def identify(cookies: Mapping[str, str], now: float | None = None) -> Login | None:
    """Who sent these cookies. Sync: one query (two with an admin session); run it in a database thread."""
    return _by_token(cookies.get(COOKIE, ""), now) or _by_session(cookies.get(settings.SESSION_COOKIE_NAME, ""))


def revoke(login: Login) -> None:
    """Log out: no cookie of this login, renewed or copied, is accepted again."""
    if login.jti:
        RevokedToken.objects.get_or_create(jti=login.jti, defaults={"expires_at": _at(login.typed + LONGEST + LIFE)})


def forget_expired_revocations(now: float | None = None) -> int:
    """Rows whose tokens have ended by themselves; called at logins, so the table stays small."""
    return RevokedToken.objects.filter(expires_at__lt=_at(int(time.time() if now is None else now))).delete()[0]


async def authenticate_scope(scope: Mapping[str, Any], threads: DbThreads | None = None) -> Caller | None:
    """The caller of an HTTP or WebSocket scope, or None. No renewal: a socket has no answer to put a cookie in."""
    cookies = scope_cookies(scope.get("headers", ()))
    if not cookies.get(COOKIE) and not cookies.get(settings.SESSION_COOKIE_NAME):
        return None
    login = await (threads.run(identify, cookies) if threads else sync_to_async(_identify_afresh)(cookies))
    return login.caller if login else None


def _identify_afresh(cookies: Mapping[str, str]) -> Login | None:
    # Outside a request nobody drops a connection that the database server closed meanwhile.
    if not connection.in_atomic_block:
        close_old_connections()
    return identify(cookies)


def scope_cookies(headers: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    return parse_cookie("; ".join(value.decode("latin1") for name, value in headers if name == b"cookie"))


_LOGGED_IN = Select(
    lambda: (
        User.objects.filter(~Exists(RevokedToken.objects.filter(jti=Param("jti"))), pk=Param("key"), is_active=True)
        .annotate(login_round=Subquery(LoginRound.objects.filter(user=OuterRef("pk")).values("number")))
        .only("username", "password", "is_superuser", "is_staff")
    )
)


def _by_token(token: str, now: float | None) -> Login | None:
    try:
        claims = tokens.read(Kind.LOGIN, token, now=now)
    except BadToken:
        return None
    subject, jti, typed, mark = (claims.get(name) for name in ("sub", "jti", "auth_time", "fp"))
    if not (isinstance(subject, str) and subject.isascii() and subject.isdigit() and len(subject) < 19):
        return None
    if not (isinstance(jti, str) and 0 < len(jti) <= 64 and "\0" not in jti and type(typed) is int):
        return None
    moment = time.time() if now is None else now
    if typed > moment + tokens.CLOCK_SLACK or moment >= typed + LONGEST or not isinstance(mark, str):
        return None
    found = _LOGGED_IN.objects(key=int(subject), jti=jti)
    user = found[0] if found else None
    if user is None or not mark.isascii() or not hmac.compare_digest(mark, fingerprint(user, user.login_round)):
        return None
    return Login(Caller.of(user), jti, cast(int, claims["iat"]), typed, mark)


def _by_session(key: str) -> Login | None:
    """A login of Django's admin. Unlike `get_user` this never writes: a GET must change nothing."""
    if not key.isascii() or not key.isalnum() or not 8 <= len(key) <= 40:
        return None
    data = SessionStore(key).load()
    user_id, backend, mark = (data.get(name) for name in (SESSION_KEY, BACKEND_SESSION_KEY, HASH_SESSION_KEY))
    if not user_id or not mark or backend not in settings.AUTHENTICATION_BACKENDS:
        return None
    user = User.objects.filter(pk=user_id, is_active=True).first()
    if user is None or not hmac.compare_digest(mark, user.get_session_auth_hash()):
        return None
    return Login(Caller.of(user))


def _at(seconds: int) -> datetime:
    return datetime.fromtimestamp(seconds, tz=UTC)
