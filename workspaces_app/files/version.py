"""Which state of a file a client saw, and whether it is still that one (CASES C64).

Two marks: the time of the last change, which every client has, and the version, which also notices a change whose time
was set back. The version is a hash of the content up to 10 MiB; above, it is made of what the file system knows.
"""

import hashlib
import math
import os
import re
import stat
from dataclasses import dataclass

from halo_site.lib.errors import Conflict

from ..walk import Spot, open_regular

HASHED = 10 * 1024 * 1024  # bytes
PIECE = 1024 * 1024


def milliseconds(found: os.stat_result) -> float:
    return found.st_mtime_ns / 1e6


def created(found: os.stat_result) -> float:
    """Unix milliseconds. Where the system does not tell, the oldest time it knows of the file."""
    born = getattr(found, "st_birthtime", None)
    return born * 1000 if born is not None else min(found.st_mtime_ns, found.st_ctime_ns) / 1e6


def version_of(handle: int, found: os.stat_result) -> str:
    if found.st_size > HASHED:
        return f"s{found.st_mtime_ns:x}-{found.st_ctime_ns:x}-{found.st_size:x}-{found.st_ino:x}"
    digest = hashlib.blake2b(digest_size=16)
    at = 0
    while piece := os.pread(handle, PIECE, at):
        digest.update(piece)
        at += len(piece)
    return digest.hexdigest()


def hash_of(data: bytes) -> str:
    """`version_of` for content that is read already."""
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def same_mtime(disk: float, expected: float) -> bool:
    """Equal to the millisecond, halves up: browsers round so."""
    return math.floor(disk + 0.5) == math.floor(expected + 0.5)


@dataclass(frozen=True, slots=True)
class Baseline:
    """What a change is based on. Without any mark it goes over whatever is there.

    mtime: Unix milliseconds. versions: any of them; `*` = any state, but there must be one.
    """

    mtime: float | None = None
    versions: tuple[str, ...] = ()

    @property
    def given(self) -> bool:
        return self.mtime is not None or bool(self.versions)

    def check(self, spot: Spot, found: os.stat_result | None) -> None:
        """Raises Conflict with the state on disk. Call it under the lock of the folder.

        found: of the name itself, links not followed. Folders and links have a time, but no version.
        """
        if not self.given:
            return
        if found is None:
            raise Conflict("conflict", mtime=None, size=None, version=None)
        version = None
        if stat.S_ISREG(found.st_mode):
            handle = open_regular(spot)
            try:
                found = os.fstat(handle)
                version = version_of(handle, found) if self.versions else None
            finally:
                os.close(handle)
        fits = self.mtime is None or same_mtime(milliseconds(found), self.mtime)
        if fits and (not self.versions or "*" in self.versions or version in self.versions):
            return
        raise Conflict("conflict", mtime=milliseconds(found), size=found.st_size, version=version)


_TAG = re.compile(r'(?:W/)?"([^"]*)"|(\*)')


def tags_of(header: str | None) -> tuple[str, ...]:
    """The versions of an `If-Match` header."""
    return tuple(tag or star for tag, star in _TAG.findall(header or ""))
