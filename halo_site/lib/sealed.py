"""Secrets at rest: with HALO_SETTINGS_KEY set, secrets of the global settings file are stored as `enc:v1:<base64>`.

AES-256-GCM over the value, bound to its dotted key: a sealed value that is moved to another key does not open. Only
the home's own file is sealed and opened. A workspace is a folder that travels, and its members write its file: they
could have sealed values of others opened for them.
"""

import base64
import binascii
import hashlib
import hmac
import os
from collections.abc import Callable
from typing import Any

from django.conf import settings

PREFIX = "enc:v1:"
_NONCE = 12  # bytes


class CannotOpen(Exception):
    """Sealed with another key, for another place, or changed."""


def is_on() -> bool:
    return bool(settings.HALO.settings_key)


def is_sealed(value: object) -> bool:
    return isinstance(value, str) and value.startswith(PREFIX)


def seal(place: str, value: str) -> str:
    """`value` for the key `place`; only with a key set."""
    nonce = os.urandom(_NONCE)
    sealed: bytes = _cipher().encrypt(nonce, value.encode("utf-8", "surrogatepass"), place.encode())
    return PREFIX + base64.b64encode(nonce + sealed).decode()


def unseal(place: str, text: str) -> str:
    """Raises CannotOpen."""
    from cryptography.exceptions import InvalidTag

    if not is_on():
        raise CannotOpen("HALO_SETTINGS_KEY is not set")
    try:
        data = base64.b64decode(text.removeprefix(PREFIX), validate=True)
        opened: bytes = _cipher().decrypt(data[:_NONCE], data[_NONCE:], place.encode())
    except (binascii.Error, ValueError, InvalidTag) as error:
        raise CannotOpen("it was sealed with another HALO_SETTINGS_KEY, or changed") from error
    return opened.decode("utf-8", "surrogatepass")


def opened(tree: dict[str, Any], note: Callable[[str, str], None], above: str = "") -> dict[str, Any]:
    """The tree with its sealed values opened; those that cannot be are left out, and `note` gets key and reason."""
    found: dict[str, Any] = {}
    for name, value in tree.items():
        place = f"{above}.{name}" if above else str(name)
        if isinstance(value, dict):
            found[name] = opened(value, note, place)
        elif is_sealed(value):
            try:
                found[name] = unseal(place, value)
            except CannotOpen as error:
                note(place, str(error))
        else:
            found[name] = value
    return found


def _cipher() -> Any:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    return AESGCM(hmac.digest(settings.HALO.settings_key.encode(), b"halo settings at rest", hashlib.sha256))
