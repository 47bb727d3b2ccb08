"""Identifiers: how ours are made, and which foreign ones may become a path segment or a key."""

import re
import secrets
import time

_ALPHABET = "0123456789abcdefghijklmnopqrstuvwxyz"
LONGEST_ROOT = 255  # characters of a root session's id
LONGEST_SID = 1600  # of any session's: each level below the root adds 20, and settings allow 64 levels
_MOST_BYTES = 2400  # an index row of PostgreSQL holds no more than 2,704
_SAFE = re.compile(r"[\w.:>\u4e00-\u9fff-]+", re.ASCII)


def base36(number: int) -> str:
    if number < 0:
        raise ValueError("base36 takes numbers from 0")
    digits = ""
    while True:
        number, rest = divmod(number, 36)
        digits = _ALPHABET[rest] + digits
        if not number:
            return digits


def new_sid() -> str:
    """A session segment: `sid_<ms base36>_<6 base36>`. Source: spec sessions 1."""
    tail = "".join(secrets.choice(_ALPHABET) for _ in range(6))
    return f"sid_{base36(time.time_ns() // 1_000_000)}_{tail}"


def is_safe_id(value: str) -> bool:
    """True for ids that may stand in a URL: word characters, `.`, `:`, `>`, `-`, Han; never `.` or `..`."""
    if value in (".", "..") or _SAFE.fullmatch(value) is None:
        return False
    root = value.partition(">")[0]
    return len(root) <= LONGEST_ROOT and len(value) <= LONGEST_SID and len(value.encode()) <= _MOST_BYTES
