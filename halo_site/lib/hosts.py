"""Which names this server answers to.

A page of another site can point its own name at our address (DNS rebinding) and would then be "same origin" with us.
So a request whose `Host` is not known is refused before anything else looks at it. Known: localhost, IP literals,
the machine's own names, and what the operator lists (`HALO_HOSTS`; a leading dot also means all names below).
"""

import ipaddress
import re
import socket
from collections.abc import Iterable
from functools import cache
from typing import Self

_NAME = re.compile(r"[a-z0-9_](?:[a-z0-9_.-]*[a-z0-9_])?\.?", re.ASCII)


def split_host(value: str) -> tuple[str, int | None] | None:
    """`Host` header or the rest of an origin -> (name in lower case, port or None); None when it is not one."""
    value = value.strip().lower()
    if value.startswith("["):
        name, bracket, rest = value[1:].partition("]")
        if not bracket or not _is_address(name):
            return None
    else:
        name, colon, port = value.partition(":")
        rest = colon + port
        if not _is_address(name) and not _NAME.fullmatch(name):
            return None
    if not rest:
        return name.rstrip("."), None
    digits = rest[1:]
    if rest[0] != ":" or not digits.isascii() or not digits.isdigit() or len(digits) > 5 or int(digits) > 65535:
        return None
    return name.rstrip("."), int(digits)


def host_allowed(value: str, listed: Iterable[str] = ()) -> bool:
    """Whether a `Host` header names this server."""
    parts = split_host(value)
    if parts is None:
        return False
    name = parts[0]
    if _is_address(name) or name in own_names():
        return True
    for known in listed:
        known = known.lower().rstrip(".")
        if name == known or (known.startswith(".") and (name.endswith(known) or name == known[1:])):
            return True
    return False


class AnsweredHosts(str):
    """As the one entry of ALLOWED_HOSTS it makes Django's own check, wherever that is asked, say the same as ours."""

    listed: tuple[str, ...]

    def __new__(cls, listed: Iterable[str]) -> Self:
        made = super().__new__(cls, "names that are known")
        made.listed = tuple(listed)
        return made

    def lower(self) -> Self:
        return self

    def __eq__(self, host: object) -> bool:
        return isinstance(host, str) and host_allowed(host, self.listed)

    __hash__ = str.__hash__


@cache
def own_names() -> frozenset[str]:
    """localhost and the machine's names as it knows them itself; no look-up leaves the machine."""
    machine = socket.gethostname().lower().rstrip(".")
    short = machine.partition(".")[0]
    return frozenset({"localhost", machine, short, f"{short}.local"} - {""})


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
