"""Signed tokens. One kind, one key, one audience: a token of one kind is worth nothing anywhere else.

Everything an attacker may write is refused before it is parsed: the header must be byte for byte ours (so `alg`,
`kid`, `jwk`, `crit` and the rest have no effect), the signature is checked next, and only then is the payload read.
"""

import base64
import binascii
import hashlib
import hmac
import time
from collections.abc import Mapping
from enum import StrEnum

import jwt
import orjson
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

DAY = 86_400
MAX_LENGTH = 4096  # characters; ours have about 400
CLOCK_SLACK = 60  # seconds a token may seem to come from the future


class Kind(StrEnum):
    """What a token is for. All but LOGIN also carry `scope` and are never a login."""

    LOGIN = "login"
    ASSET = "asset"  # files of one extension version
    PREVIEW = "preview"  # a page in a workspace folder
    VISITOR = "visitor"  # one visitor of a web chat
    TICKET = "ticket"  # one use, seconds
    ACCOUNT = "account"  # a channel account
    METRICS = "metrics"
    UPLOAD = "upload"  # a long body for the staff site; says nothing about who sends it


MAX_LIFE = {  # seconds between `iat` and `exp`
    Kind.LOGIN: 14 * DAY,
    Kind.ASSET: DAY,
    Kind.PREVIEW: DAY,
    Kind.VISITOR: 30 * DAY,
    Kind.TICKET: 60,
    Kind.ACCOUNT: 366 * DAY,
    Kind.METRICS: 366 * DAY,
    Kind.UPLOAD: 3600,
}

_HEADER = jwt.encode({}, "0" * 32, algorithm="HS256").partition(".")[0]
_jws = jwt.PyJWS(algorithms=["HS256"])


class BadToken(Exception):
    """Not a valid token of this kind; which of the many reasons is nobody's business."""


def issue(kind: Kind, claims: Mapping[str, object], *, life: int, now: float | None = None) -> str:
    """A token of `kind` that lives `life` seconds."""
    if life > MAX_LIFE[kind]:
        raise ValueError(f"{kind} tokens live at most {MAX_LIFE[kind]} s")
    issued = int(time.time() if now is None else now)
    payload: dict[str, object] = {**claims, "aud": kind.value, "iat": issued, "exp": issued + life}
    if kind is not Kind.LOGIN:
        payload["scope"] = kind.value
    return jwt.encode(payload, _key(kind), algorithm="HS256")


def read(kind: Kind, token: str, *, now: float | None = None) -> dict[str, object]:
    """The claims of a valid token of `kind`. Raises BadToken."""
    if not token or len(token) > MAX_LENGTH or not token.isascii() or token.count(".") != 2:
        raise BadToken
    if not hmac.compare_digest(token.partition(".")[0], _HEADER):
        raise BadToken
    try:
        payload = orjson.loads(_jws.decode(token, _key(kind), algorithms=["HS256"]))
    except (jwt.PyJWTError, orjson.JSONDecodeError, ValueError, RecursionError) as error:
        raise BadToken from error
    if not isinstance(payload, dict):
        raise BadToken
    moment = time.time() if now is None else now
    issued, ends = payload.get("iat"), payload.get("exp")
    if type(issued) is not int or type(ends) is not int:
        raise BadToken
    if issued > moment + CLOCK_SLACK or ends <= moment or ends <= issued or ends - issued > MAX_LIFE[kind]:
        raise BadToken
    scope = None if kind is Kind.LOGIN else kind.value
    if payload.get("aud") != kind.value or payload.get("scope") != scope:
        raise BadToken
    return payload


def check_secret(secret: str | None = None) -> None:
    """Raises ImproperlyConfigured for an empty, short or guessable signing key (`settings.HALO` by default)."""
    value = settings.HALO.jwt_secret if secret is None else secret
    raw = secret_bytes(value)
    if len(raw) < 32:
        raise ImproperlyConfigured(
            "HALO_JWT_SECRET (server.jwt_secret) is empty or too short: give at least 32 random bytes in base64, "
            "or remove it and the first start makes one"
        )
    if len(set(raw)) < 12:
        raise ImproperlyConfigured("HALO_JWT_SECRET (server.jwt_secret) is a pattern, not a random key")


def secret_bytes(secret: str) -> bytes:
    """The key's bytes: base64 when it is, else the text itself."""
    try:
        return base64.b64decode(secret, validate=True)
    except (binascii.Error, ValueError):
        return secret.encode()


def derived_key(purpose: str) -> bytes:
    """32 bytes that belong to one purpose only."""
    return hmac.digest(secret_bytes(settings.HALO.jwt_secret), b"halo " + purpose.encode(), hashlib.sha256)


def _key(kind: Kind) -> bytes:
    return derived_key(f"token {kind.value}")
