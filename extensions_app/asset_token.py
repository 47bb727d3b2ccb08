"""Tokens in the path of extension files (spec canvas-extensions 3.5): read them, for a day, and nothing else."""

from collections import OrderedDict
from dataclasses import dataclass
from time import time

from halo_site.tokens import DAY, BadToken, Kind, issue, read

LIFE = DAY
KEPT = 1_024


@dataclass(frozen=True, slots=True)
class Grant:
    """What a token is good for; empty = any extension. `compat`: without the cage."""

    id: str
    version: str
    compat: bool
    ends: int  # Unix seconds

    def covers(self, id: str, version: str) -> bool:
        return not self.id or (self.id, self.version) == (id, version)


_read: OrderedDict[str, Grant] = OrderedDict()


def issue_for(id: str = "", version: str = "", *, compat: bool = False, now: float | None = None) -> str:
    claims: dict[str, object] = {"id": id, "version": version} if id else {}
    return issue(Kind.ASSET, claims | ({"mode": "compat"} if compat else {}), life=LIFE, now=now)


def grant_of(token: str) -> Grant:
    """Raises BadToken. One viewer asks for many files with one token: what was read once is kept."""
    known = _read.get(token)
    if known is None:
        known = _read[token] = _parse(token)
        while len(_read) > KEPT:
            _read.popitem(last=False)
    if known.ends <= time():
        raise BadToken
    return known


def _parse(token: str) -> Grant:
    claims = read(Kind.ASSET, token)
    id, version, ends = claims.get("id", ""), claims.get("version", ""), claims["exp"]
    if not isinstance(id, str) or not isinstance(version, str) or not isinstance(ends, int):
        raise BadToken
    return Grant(id, version, claims.get("mode") == "compat", ends)
