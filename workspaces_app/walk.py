"""Down to a file from an open folder, one component at a time; the kernel never follows a link for us.

A link is read and walked here, and what leads out is refused. So nothing that changes on disk meanwhile can make the
door open something outside (SECURITY-BAR D1, D2).
"""

import errno
import os
import stat
import unicodedata
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from halo_site.lib.errors import BadRequest, Forbidden, HaloError, NotFound, StorageFull

MAX_LINKS = 40
MAX_NAME = 255

DIR = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class Outside(Forbidden):
    """The path leads out of the workspace, by itself or by a link."""


@dataclass(frozen=True, slots=True)
class Spot:
    """An opened folder and a name in it that is not a link (or not there yet)."""

    folder: int
    name: str  # "." = the folder itself
    where: Path  # path of the folder, for texts and the journal only


class Walk:
    """Goes down from a base folder with open handles; links are resolved here, never by the kernel."""

    def __init__(self, base: Path, path: str, check: Callable[[tuple[str, ...]], None], *, create: bool) -> None:
        self.base = base
        self.path = path
        self.check = check  # before a folder is made: nothing appears where nothing may be written
        self.create = create
        self.handles = [os.open(base, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)]
        self.names: list[str] = []
        self.links = 0

    def close(self) -> None:
        for handle in self.handles:
            with suppress(OSError):
                os.close(handle)

    def to(self, parts: list[str], *, keep_link: bool = False) -> Spot:
        """The folder and name that `parts` lead to. The last name need not exist.

        keep_link: a link at the end is meant itself, not what it points to.
        """
        todo = list(reversed(parts))
        while todo:
            part = todo.pop()
            if part in ("", "."):
                continue
            if part == "..":  # only from a link's target
                self._up()
                continue
            if len(os.fsencode(part)) > MAX_NAME:
                raise BadRequest(f"A file name has at most {MAX_NAME} bytes")
            part = self._as_on_disk(part)
            if keep_link and not any(todo):
                return Spot(self.handles[-1], part, self.base.joinpath(*self.names))
            target = self._link(part)
            if target is not None:
                todo.extend(reversed(self._target_parts(target)))
            elif todo:
                self._down(part, todo)
            else:
                return Spot(self.handles[-1], part, self.base.joinpath(*self.names))
        return Spot(self.handles[-1], ".", self.base.joinpath(*self.names))

    def _as_on_disk(self, name: str) -> str:
        """Composed or decomposed, whichever is there (CASES C61); a new name is composed."""
        if name.isascii() or self._is_there(name):
            return name
        for form in ("NFC", "NFD"):
            other = unicodedata.normalize(form, name)
            if other != name and self._is_there(other):
                return other
        return unicodedata.normalize("NFC", name) if self.create else name

    def _is_there(self, name: str) -> bool:
        try:
            os.stat(name, dir_fd=self.handles[-1], follow_symlinks=False)
        except FileNotFoundError:
            return False
        return True

    def _link(self, name: str) -> str | None:
        try:
            return os.readlink(name, dir_fd=self.handles[-1])
        except OSError as error:
            if error.errno in (errno.EINVAL, errno.ENOENT):
                return None
            raise

    def _target_parts(self, target: str) -> list[str]:
        self.links += 1
        if self.links > MAX_LINKS:
            raise BadRequest(f"Too many links in {self.path}")
        if not target.startswith("/"):
            return target.split("/")
        parts, base = Path(target).parts, self.base.parts
        if ".." in parts or parts[: len(base)] != base:
            raise Outside(f'Access denied: "{self.path}" is a link that leaves the workspace')
        while len(self.handles) > 1:
            self._up()
        return list(parts[len(base) :])

    def _up(self) -> None:
        if len(self.handles) == 1:
            raise Outside(f'Access denied: "{self.path}" is a link that leaves the workspace')
        os.close(self.handles.pop())
        self.names.pop()

    def _down(self, name: str, todo: list[str]) -> None:
        here = self.handles[-1]
        try:
            handle = os.open(name, DIR, dir_fd=here)
        except FileNotFoundError:
            if not self.create:
                raise
            self.check((*self.names, name, *reversed(todo)))  # below a new folder there can be no link
            with suppress(FileExistsError):
                os.mkdir(name, dir_fd=here)
            handle = os.open(name, DIR, dir_fd=here)
        self.handles.append(handle)
        self.names.append(name)


def open_regular(spot: Spot) -> int:
    """Opened without waiting for the other end of a pipe; anything but a regular file is refused."""
    handle = os.open(spot.name, READ, dir_fd=spot.folder)
    mode = os.fstat(handle).st_mode
    if stat.S_ISREG(mode):
        return handle
    os.close(handle)
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    raise BadRequest("Not a regular file")


def regular_or_absent(spot: Spot, path: str) -> os.stat_result | None:
    if spot.name == ".":
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    try:
        found = os.stat(spot.name, dir_fd=spot.folder, follow_symlinks=False)
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if not stat.S_ISREG(found.st_mode):
        raise BadRequest(f"{path} is not a regular file")
    return found


def as_halo_error(error: OSError, path: str) -> HaloError:
    """The sentence and status for what the operating system said about `path`."""
    match error.errno:
        case errno.ENOENT:
            return NotFound(f"No such file or directory: {path}")
        case errno.EISDIR:
            return BadRequest(f"{path} is a directory")
        case errno.ENOTDIR:
            return BadRequest(f"Not a directory: {path}")
        case errno.ELOOP:
            return Forbidden(f"{path} changed into a link meanwhile")
        case errno.ENAMETOOLONG:
            return BadRequest(f"The path is too long: {path[:80]}...")
        case errno.EACCES | errno.EPERM:
            return Forbidden(f"Permission denied: {path}")
        case errno.EROFS:
            return StorageFull(f"The file system is read-only: {path} was not written")
        case errno.ENOSPC | errno.EDQUOT:
            return StorageFull(f"The disk is full: {path} was not written")
        case errno.ENXIO | errno.ENODEV:
            return BadRequest(f"{path} is not a regular file")
        case _:
            return BadRequest(f"{os.strerror(error.errno or 0)}: {path}")
