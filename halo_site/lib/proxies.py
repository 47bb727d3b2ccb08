"""Who is really calling, when a reverse proxy stands in front of us.

`X-Forwarded-For` and `X-Forwarded-Proto` are ignored unless `general.server.trust_proxy` is on. Then the list is read
from right to left past the trusted hops: what the first hop that is not ours wrote to its left can be forged.
Trusted hops: `HALO_TRUSTED_PROXIES` (addresses or networks); when empty, the connected peer and loopback.
"""

import ipaddress
from collections.abc import Sequence

_LOOPBACK = ("127.0.0.0/8", "::1/128")


def client_address(peer: str, forwarded_for: str, *, trust_proxy: bool, trusted: Sequence[str] = ()) -> str:
    """The address to hold responsible; `peer` itself when it is no trusted proxy or the header is unusable."""
    if not trust_proxy or not forwarded_for:
        return peer
    networks = [ipaddress.ip_network(entry, strict=False) for entry in (trusted or _LOOPBACK)]
    if trusted and not _within(peer, networks):
        return peer
    address = peer
    for hop in reversed(forwarded_for.split(",")[-32:]):
        cleaned = _clean(hop)
        if cleaned is None:
            return address
        address = cleaned
        if not _within(address, networks):
            return address
    return address


def forwarded_scheme(scheme: str, forwarded_proto: str, *, trust_proxy: bool) -> str:
    """`https` or `http` as the nearest proxy saw it; `ws` stays of the family `ws`."""
    said = forwarded_proto.rpartition(",")[2].strip().lower()
    if not trust_proxy or said not in ("http", "https"):
        return scheme
    if scheme.startswith("ws"):
        return "wss" if said == "https" else "ws"
    return said


def _clean(hop: str) -> str | None:
    """One entry: an address, perhaps with a port or in brackets."""
    text = hop.strip().strip('"')
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    mapped = getattr(address, "ipv4_mapped", None)
    return str(mapped or address)


def _within(text: str, networks: Sequence[ipaddress.IPv4Network | ipaddress.IPv6Network]) -> bool:
    cleaned = _clean(text)
    if cleaned is None:
        return False
    address = ipaddress.ip_address(cleaned)
    return any(address in network for network in networks)
