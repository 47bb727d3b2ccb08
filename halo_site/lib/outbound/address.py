"""Pure: what an address names, and which network addresses may be reached (SECURITY-BAR F5)."""

import ipaddress
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Self
from urllib.parse import urlsplit

import idna

from ..errors import BadRequest

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

DEFAULT_PORTS = {"http": 80, "https": 443}
MAX_URL = 8_192  # characters
# https, http, and git over ssh and git:// (spec tools 3.2)
PORTS = frozenset({80, 443, 22, 9418})

# Forms of IPv6 that carry an IPv4 address to which a gateway or the kernel sends the packet.
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_COMPATIBLE = ipaddress.ip_network("::/96")
# Not private by the registries, but never meant for a stranger: services that clouds answer on inside a machine.
_METADATA = frozenset({ipaddress.ip_address("168.63.129.16")})
_EXTRA_NETWORKS = tuple(
    ipaddress.ip_network(text)
    for text in (
        "64:ff9b:1::/48",
        "100.64.0.0/10",
        "192.0.0.0/24",
        "192.88.99.0/24",
        "fec0::/10",
        "2001::/23",
        "5f00::/16",
    )
)

_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?", re.ASCII)
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*", re.ASCII)


class BadAddress(BadRequest):
    """The text is not an address that we take; says why."""


@dataclass(frozen=True, slots=True)
class Place:
    """host: name in lower case without a final dot, or an IP literal in its shortest form (IPv6 without brackets)."""

    host: str
    port: int

    @property
    def literal(self) -> Address | None:
        return _literal(self.host)

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@dataclass(frozen=True, slots=True)
class Target:
    """One http or https address. `path` begins with a slash and holds the query; the fragment is gone."""

    scheme: str
    place: Place
    path: str

    @property
    def origin(self) -> tuple[str, Place]:
        return self.scheme, self.place

    @property
    def authority(self) -> str:
        host = f"[{self.place.host}]" if ":" in self.place.host else self.place.host
        return host if self.place.port == DEFAULT_PORTS[self.scheme] else f"{host}:{self.place.port}"

    def __str__(self) -> str:
        return f"{self.scheme}://{self.authority}{self.path}"


def parse_url(text: str) -> Target:
    """The address of a page. Raises BadAddress for what browsers and libraries read differently, and other schemes."""
    if len(text) > MAX_URL:
        raise BadAddress(f"The address is longer than {MAX_URL} characters")
    if any(char <= " " or char == "\x7f" or char == "\\" for char in text):
        raise BadAddress("The address holds a space, a control character or a backslash")
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError as error:
        raise BadAddress(f"Not an address: {error}") from error
    scheme = parts.scheme.lower()
    if scheme not in DEFAULT_PORTS:
        raise BadAddress(f"Only http and https addresses can be fetched, not {scheme or text.partition(':')[0]!r}")
    if "@" in parts.netloc:
        raise BadAddress("The address must not hold a user name or password")
    if not parts.netloc or port == 0:
        raise BadAddress("The address names no host or no port")
    host = parts.netloc if port is None else parts.netloc.rpartition(":")[0]
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    place = Place(_host(host.removesuffix(":")), port or DEFAULT_PORTS[scheme])
    return Target(scheme, place, path if path.isascii() else _quoted(path))


def parse_place(text: str) -> Place:
    """`host:port` of a CONNECT. Raises BadAddress."""
    host, colon, digits = text.rpartition(":")
    if not colon or not (digits.isascii() and digits.isdigit()) or len(digits) > 5 or not 0 < int(digits) < 65536:
        raise BadAddress("Not host:port")
    if any(char <= " " or char in "\x7f\\@/" for char in host):
        raise BadAddress("Not host:port")
    return Place(_host(host), int(digits))


def _quoted(path: str) -> str:
    from urllib.parse import quote

    return quote(path, safe="/?&=%:;,@!$'()*+-._~[]")


def _host(text: str) -> str:
    """One spelling per host. Raises BadAddress for numbers in disguise, zones, percent signs and empty labels."""
    if text.startswith("["):
        inner = text.removeprefix("[").removesuffix("]")
        found = _literal(inner) if text.endswith("]") and ":" in inner else None
        if found is None:
            raise BadAddress("Not an IPv6 address")
        return found.compressed
    if not text.isascii():
        try:
            text = idna.encode(text, uts46=True).decode("ascii")
        except (idna.IDNAError, UnicodeError) as error:
            raise BadAddress("Not a host name") from error
    name = text.lower().removesuffix(".")
    labels = name.split(".")
    if len(name) > 253 or not all(_LABEL.fullmatch(label) for label in labels):
        raise BadAddress("Not a host name")
    if _NUMBER.fullmatch(labels[-1]):
        literal = _literal(name)
        if literal is None:
            raise BadAddress("Write IP addresses as four decimal numbers")
        return str(literal)
    return name


def _literal(text: str) -> Address | None:
    if "%" in text:  # a zone: an interface of this machine
        return None
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None


def is_public(address: Address) -> bool:
    """Whether the whole internet could reach it; an IPv6 address that carries an IPv4 one is judged by both."""
    if isinstance(address, ipaddress.IPv6Address):
        for carried in _carried(address):
            if not is_public(carried):
                return False
        if address.ipv4_mapped or address in _NAT64:
            return True
        if address in _COMPATIBLE:
            return False
    if address in _METADATA or any(address in net for net in _EXTRA_NETWORKS if net.version == address.version):
        return False
    return address.is_global and not (address.is_multicast or address.is_reserved or address.is_unspecified)


def _carried(address: ipaddress.IPv6Address) -> Iterable[ipaddress.IPv4Address]:
    if address.ipv4_mapped:
        yield address.ipv4_mapped
    if address.sixtofour:
        yield address.sixtofour
    if address.teredo:
        yield from address.teredo
    if address in _NAT64:
        yield ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)


@dataclass(frozen=True, slots=True)
class Allowed:
    """One entry of the list. host: a name, or "" = any public address; port: 0 = any of `PORTS`."""

    host: str = ""
    network: Network | None = None
    port: int = 0


@dataclass(frozen=True, slots=True)
class Rules:
    """Where connections may go: public addresses on `ports`, and what the owner listed (`general.outbound.allow`)."""

    allowed: tuple[Allowed, ...] = ()
    ports: frozenset[int] | None = field(default=PORTS)  # None = any

    @classmethod
    def read(cls, entries: Iterable[str], *, ports: frozenset[int] | None = PORTS) -> Self:
        """`10.0.0.0/8`, `10.0.0.5:8080`, `[fd00::1]:80`, `wiki.lan`, `w.lan:80`, `:8443`; others raise BadAddress."""
        return cls(tuple(_entry(entry.strip()) for entry in entries if entry.strip()), ports)

    def why_not(self, place: Place, address: Address) -> str | None:
        """None = may be connected to; else the reason, without the address (which may be a secret of this network)."""
        for one in self.allowed:
            named = one.host == place.host and one.host
            inside = one.network is not None and address.version == one.network.version and address in one.network
            if (named or inside) and (one.port or place.port) == place.port:
                return None
        if not is_public(address):
            return f"{place.host} is not a public address"
        open_ports = any(not one.host and one.network is None and one.port == place.port for one in self.allowed)
        if self.ports is not None and place.port not in self.ports and not open_ports:
            return f"port {place.port} is not allowed"
        return None


def _entry(text: str) -> Allowed:
    if text.startswith(":") and text[1:].isascii() and text[1:].isdigit() and 0 < int(text[1:]) < 65536:
        return Allowed(port=int(text[1:]))
    try:
        return Allowed(network=ipaddress.ip_network(text, strict=False))
    except ValueError:
        pass
    has_port = re.search(r"(?<=[\w\].]):\d{1,5}$", text)
    place = parse_place(text) if has_port else Place(_host(text), 0)
    if place.literal is not None:
        return Allowed(network=ipaddress.ip_network(place.host), port=place.port)
    return Allowed(host=place.host, port=place.port)
