"""Connects to a tested address: one look-up, all answers tested, no second look-up (SECURITY-BAR F5, F6)."""

import asyncio
import ipaddress
import logging
import socket

from ..errors import Forbidden, HaloError
from .address import Address, Place, Rules

log = logging.getLogger(__name__)

CONNECT_SECONDS = 8.0
MAX_TRIED = 4


class Refused(Forbidden):
    """The address is known and may not be reached."""


class Unreachable(HaloError):
    """There is no such host, or it does not answer."""

    status, code = 502, "unreachable"


async def tested(place: Place, rules: Rules) -> list[Address]:
    """The addresses of `place`, all of them allowed. Raises Refused when any is not, Unreachable when there is none."""
    literal = place.literal
    addresses = [literal] if literal is not None else await _look_up(place)
    for address in addresses:
        reason = rules.why_not(place, address)
        if reason is None and _is_ours(address) and not _listed(place, address, rules):
            reason = f"{place.host} is this machine"
        if reason is not None:
            raise Refused(f"Refused: {reason}. The owner can allow it in the settings (general.outbound.allow).")
    return addresses


async def connect(place: Place, rules: Rules) -> socket.socket:
    """A connected, non-blocking socket to one of the tested addresses. Raises Refused or Unreachable."""
    loop = asyncio.get_running_loop()
    failure: OSError | None = None
    for address in (await tested(place, rules))[:MAX_TRIED]:
        sock = socket.socket(socket.AF_INET6 if address.version == 6 else socket.AF_INET, socket.SOCK_STREAM)
        sock.setblocking(False)
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                await loop.sock_connect(sock, (str(address), place.port))
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        except OSError as error:  # TimeoutError is one
            sock.close()
            failure = error
        except BaseException:
            sock.close()
            raise
        else:
            return sock
    said = "no answer in time" if isinstance(failure, TimeoutError) else getattr(failure, "strerror", None) or "failed"
    raise Unreachable(f"Cannot connect to {place}: {said}")


async def _look_up(place: Place) -> list[Address]:
    try:
        found = await asyncio.get_running_loop().getaddrinfo(place.host, place.port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise Unreachable(f"There is no host named {place.host}") from error
    addresses: list[Address] = []
    for family, _, _, _, where in found:
        if family in (socket.AF_INET, socket.AF_INET6):
            address = ipaddress.ip_address(str(where[0]).partition("%")[0])
            if address not in addresses:
                addresses.append(address)
    if not addresses:
        raise Unreachable(f"There is no host named {place.host}")
    return addresses


def _is_ours(address: Address) -> bool:
    """True for an address of this machine, however public: only those can be bound."""
    family = socket.AF_INET6 if address.version == 6 else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.bind((str(address), 0))
    except OSError:
        return False
    return True


def _listed(place: Place, address: Address, rules: Rules) -> bool:
    return Rules(rules.allowed, frozenset()).why_not(place, address) is None
