"""Rules for new passwords, and the reader of the hash format that older homes bring along.

scrypt$N=16384,r=8,p=1$<salt, base64>$<digest, base64>
"""

import base64
import binascii
import hashlib
import hmac
import re
import secrets
from typing import Any

from django.conf import settings
from django.contrib.auth.hashers import BasePasswordHasher, mask_hash
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError

MAX_BYTES = 1024  # longer ones are wrong without being hashed
_COST = re.compile(r"N=(\d{1,8}),r=(\d{1,3}),p=(\d{1,3})", re.ASCII)
_MAX_MEMORY = 256 * 1024 * 1024


def weakness(password: str) -> str | None:
    """Why a new password is not accepted; None when it is fine."""
    if len(password) < 8:
        return "Password must be at least 8 characters"
    if len(password.encode("utf-8", "surrogatepass")) > MAX_BYTES:
        return f"Password must be at most {MAX_BYTES} bytes"
    if not any(sign.isalpha() for sign in password):
        return "Password must contain at least one letter"
    if not any(sign.isdigit() for sign in password):
        return "Password must contain at least one digit"
    return None


def is_env_managed(user: User) -> bool:
    """The password of `admin` is `HALO_PASSWORD` while that is set, whatever the database holds."""
    return user.username == "admin" and bool(settings.HALO.password)


class RulesValidator:
    """The same rules in Django's forms and commands (AUTH_PASSWORD_VALIDATORS)."""

    def validate(self, password: str, user: User | None = None) -> None:
        if reason := weakness(password):
            raise ValidationError(reason)

    def get_help_text(self) -> str:
        return "At least 8 characters, with a letter and a digit."


class ImportedScryptHasher(BasePasswordHasher):
    """Reads the format above. Anything malformed is a wrong password, never an error.

    Not the preferred hasher, so Django stores its own format at the first login that succeeds.
    """

    algorithm = "scrypt"

    def encode(self, password: str, salt: str) -> str:
        raw = base64.b64decode(salt)
        digest = _scrypt(password, raw, 16384, 8, 1, 32)
        return f"{self.algorithm}$N=16384,r=8,p=1${salt}${base64.b64encode(digest).decode()}"

    def salt(self) -> str:
        return base64.b64encode(secrets.token_bytes(16)).decode()

    def decode(self, encoded: str) -> dict[str, object]:
        algorithm, cost, salt, digest = encoded.split("$", 3)
        return {"algorithm": algorithm, "cost": cost, "salt": salt, "hash": digest}

    def verify(self, password: str, encoded: str) -> bool:
        parts = encoded.split("$")
        if len(parts) != 4 or parts[0] != self.algorithm:
            return False
        cost = _COST.fullmatch(parts[1])
        if cost is None:
            return False
        n, r, p = (int(number) for number in cost.groups())
        try:
            salt = base64.b64decode(parts[2], validate=True)
            digest = base64.b64decode(parts[3], validate=True)
        except (binascii.Error, ValueError):
            return False
        too_costly = n < 2 or n & (n - 1) or r < 1 or p < 1 or p > 16 or 128 * n * r > _MAX_MEMORY
        if too_costly or not salt or not 16 <= len(digest) <= 64:
            return False
        return hmac.compare_digest(_scrypt(password, salt, n, r, p, len(digest)), digest)

    def safe_summary(self, encoded: str) -> dict[Any, Any]:
        parts = [*encoded.split("$"), "", "", ""]
        return {"algorithm": self.algorithm, "cost": parts[1], "hash": mask_hash(parts[3])}

    def must_update(self, encoded: str) -> bool:
        return True

    def harden_runtime(self, password: str, encoded: str) -> None:
        """Scrypt's cost does not grow in small steps; the first login replaces the hash anyway."""


def _scrypt(password: str, salt: bytes, n: int, r: int, p: int, length: int) -> bytes:
    secret = password.encode("utf-8", "surrogatepass")
    return hashlib.scrypt(secret, salt=salt, n=n, r=r, p=p, maxmem=_MAX_MEMORY + 2**20, dklen=length)
