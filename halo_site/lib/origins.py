"""Whether a request comes from our own pages: scheme, host and port are compared by us.

Channels' own validator reads ALLOWED_HOSTS and ignores scheme and port; a browser's `Origin` names all three.
"""

import re
from collections.abc import Iterable

from .hosts import split_host

_ORIGIN = re.compile(r"(https?)://([^\s/?#@\\,]+)", re.ASCII)
_DEFAULT_PORT = {"http": 80, "https": 443}
_PLAIN = {"ws": "http", "wss": "https", "http": "http", "https": "https"}

Place = tuple[str, str, int]  # scheme, host, port


def parse_origin(origin: str) -> Place | None:
    """`https://halo.example:8443` -> (https, halo.example, 8443); None for `null`, paths, user info and the like."""
    match = _ORIGIN.fullmatch(origin.strip().lower())
    return _place(match[1], match[2]) if match else None


def origin_allowed(origin: str, *, scheme: str, host: str, listed: Iterable[str] = ()) -> bool:
    """Whether `origin` is this server as addressed by the request, or one of the `listed` origins.

    scheme: of the request (`ws` counts as `http`); host: its `Host` header; listed: `server.cors_origins`.
    """
    place = parse_origin(origin)
    if place is None:
        return False
    return place == _place(_PLAIN.get(scheme, ""), host) or any(place == parse_origin(other) for other in listed)


def same_site_host(origin: str, host: str) -> bool:
    """Same host and port, whatever the scheme: behind a proxy that ends TLS we see `http`, the browser `https`."""
    place = parse_origin(origin)
    return place is not None and place == _place(place[0], host)


def _place(scheme: str, host: str) -> Place | None:
    parts = split_host(host)
    if parts is None or scheme not in _DEFAULT_PORT:
        return None
    return scheme, parts[0], parts[1] if parts[1] is not None else _DEFAULT_PORT[scheme]
