"""The one door to files, for people and for agents.

A confined door (web users, sessions below full access) walks to a file from an open handle of the workspace (walk.py).
A free door (agent sessions with full access) opens what the server's own user may open.
"""

import fcntl
import os
import stat
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from io import FileIO
from pathlib import Path

from halo_site.lib.access_level import Access
from halo_site.lib.atomic_file import Staged, folder_lock, replace_in, staged
from halo_site.lib.errors import BadRequest, Conflict, Forbidden, HaloError, NotFound, TooLarge

from .protected import HIDDEN_GLOBAL, MASKED, hidden, is_control_file, is_masked
from .sandbox.held import set_aside
from .sandbox.ledger import vouching
from .sandbox.repositories import is_bare_folder, steering, unfinished
from .walk import DIR, Outside, Spot, Walk, as_halo_error, open_regular, regular_or_absent

__all__ = ["Edit", "Jail", "Listed", "Outside", "Spot", "Version", "as_halo_error"]

MAX_PATH = 4096


@dataclass(frozen=True, slots=True)
class Version:
    """Which state of a file somebody saw; two states with the same Version are taken as the same."""

    mtime_ns: int
    size: int
    inode: int

    @classmethod
    def of(cls, found: os.stat_result) -> "Version":
        return cls(found.st_mtime_ns, found.st_size, found.st_ino)


@dataclass(frozen=True, slots=True)
class Listed:
    """One entry of a folder. A link is reported as what it points to, or as a file when that is not to be known."""

    name: str
    is_dir: bool
    is_link: bool


Edit = Callable[[bytes, Version], bytes]


class Jail:
    """Files of one workspace for one caller.

    level: readonly may not write; below full the door is confined to the workspace, and to reading in `readable`.
    confined: None = by level (full is free). Web routes pass True: a person in a browser never leaves the workspace.
    """

    def __init__(
        self,
        root: Path,
        *,
        level: Access = Access.FULL,
        confined: bool | None = None,
        readable: tuple[Path, ...] = (),
    ) -> None:
        self.root = root
        self.level = level
        self.confined = level is not Access.FULL if confined is None else confined
        self.readable = readable

    # -- reading --------------------------------------------------------------------------------------------------

    def open_file(self, path: str) -> int:
        """A handle for reading a regular file. The caller closes it. Raises HaloError with the reason."""
        with self.errors(path), self.spot(path) as spot:
            return open_regular(spot)

    def read(self, path: str, *, limit: int) -> tuple[bytes, Version]:
        """A whole file of at most `limit` bytes. Raises TooLarge with its size in `extra`."""
        handle = self.open_file(path)
        with os.fdopen(handle, "rb") as file:
            found = os.fstat(file.fileno())
            if found.st_size > limit:
                raise TooLarge(f"{path} has {found.st_size} bytes; the limit is {limit}", size=found.st_size)
            data = file.read(limit + 1)
            if len(data) > limit:  # it grew, or lies about its size
                raise TooLarge(f"{path} has more than {limit} bytes", size=len(data))
            return data, Version.of(found)

    def entries(self, path: str = ".", *, limit: int = 100_000) -> list[Listed]:
        """The entries of a folder by name. Raises TooLarge with more than `limit`."""
        with self.errors(path), self.folder(path) as handle:
            listed: list[Listed] = []
            with os.scandir(handle) as found:
                for entry in found:
                    if len(listed) >= limit:
                        raise TooLarge(f"{path} has more than {limit} entries")
                    is_dir = entry.is_dir(follow_symlinks=not self.confined)
                    listed.append(Listed(entry.name, is_dir, entry.is_symlink()))
        listed.sort(key=lambda entry: entry.name)
        return listed

    def stat(self, path: str) -> os.stat_result:
        """Of what the path names, links followed as far as this door allows."""
        with self.errors(path), self.spot(path) as spot:
            return os.stat(spot.name, dir_fd=spot.folder, follow_symlinks=not self.confined)

    # -- writing --------------------------------------------------------------------------------------------------

    def write(self, path: str, data: bytes, *, expect: Version | None = None) -> Version:
        """Replace or create a file as a whole; missing folders are made, the mode of an old file is kept.

        expect: write only over exactly this state. Raises Conflict (changed since, or gone), Forbidden, BadRequest.
        """
        self._may_write(path)
        with self.errors(path), self.spot(path, create=True) as spot, folder_lock(spot.folder):
            found = regular_or_absent(spot, path)
            if expect is not None and (found is None or Version.of(found) != expect):
                raise Conflict(f"{path} changed on disk meanwhile", changed=True)
            replace_in(spot.folder, spot.name, data, where=spot.where)
            return Version.of(os.stat(spot.name, dir_fd=spot.folder, follow_symlinks=False))

    def change(self, path: str, edit: Edit, *, limit: int) -> Version:
        """Read, compute, replace under one lock: no other writer of this door comes in between.

        edit: bytes and Version of the file -> new bytes. What it raises leaves the file as it was.
        """
        self._may_write(path)
        with self.errors(path), self.spot(path, writing=True) as spot, folder_lock(spot.folder):
            handle = open_regular(spot)
            with os.fdopen(handle, "rb") as file:
                found = os.fstat(file.fileno())
                if found.st_size > limit:
                    raise TooLarge(f"{path} has {found.st_size} bytes; the limit is {limit}", size=found.st_size)
                new = edit(file.read(limit), Version.of(found))
            replace_in(spot.folder, spot.name, new, where=spot.where)
            return Version.of(os.stat(spot.name, dir_fd=spot.folder, follow_symlinks=False))

    def append_lines(self, path: str, data: bytes) -> None:
        """Add lines to a file under its lock, and to disk; what a killed writer left of a line is cut first."""
        self._may_write(path)
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        with self.errors(path), self.spot(path, create=True) as spot:
            handle = os.open(spot.name, flags, 0o600, dir_fd=spot.folder)
            with os.fdopen(handle, "r+b", buffering=0) as file:
                if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                    raise BadRequest(f"{path} is not a regular file")
                fcntl.flock(file, fcntl.LOCK_EX)
                end = _whole_lines(file)
                file.truncate(end)
                file.seek(end)
                rest = memoryview(data)
                while rest:
                    rest = rest[file.write(rest) :]
                os.fsync(file.fileno())

    @contextmanager
    def draft(self, path: str, *, create: bool = False, keep_link: bool = False) -> Iterator[tuple[Spot, Staged]]:
        """A temporary file beside `path` to write to in pieces, whatever its size; gone unless it is published."""
        self._may_write(path)
        with (
            self.errors(path),
            self.spot(path, writing=True, create=create, keep_link=keep_link) as spot,
            staged(spot.folder, like=spot.name, where=spot.where) as file,
        ):
            yield spot, file

    def create(self, path: str) -> None:
        """An empty file where nothing is; folders above it are made. Raises Conflict when the name is taken."""
        self._may_write(path)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        with self.errors(path), self.spot(path, create=True) as spot:
            try:
                os.close(os.open(spot.name, flags, 0o666, dir_fd=spot.folder))
            except (FileExistsError, IsADirectoryError) as error:
                raise Conflict("File already exists") from error
            os.fsync(spot.folder)

    def remove_file(self, path: str) -> None:
        """Remove one file; a link is removed, not what it points to. Raises NotFound when there is none."""
        self._may_write(path)
        with self.errors(path), self.spot(path, writing=True, keep_link=True) as spot:
            os.unlink(spot.name, dir_fd=spot.folder)

    def make_folder(self, path: str) -> None:
        """A folder and those above it; fine when it is there. Raises BadRequest when something else has the name."""
        self._may_write(path)
        with self.errors(path), self.spot(path, create=True) as spot:
            if spot.name == ".":
                return
            try:
                os.mkdir(spot.name, dir_fd=spot.folder)
            except FileExistsError:
                os.close(os.open(spot.name, DIR, dir_fd=spot.folder))  # raises ENOTDIR for anything else

    # -- what this caller may see and change ------------------------------------------------------------------------

    def unseen(self) -> dict[tuple[str, ...], frozenset[str]]:
        """What this caller never sees: folder below the root -> names in it, all case-folded."""
        if self.level is Access.FULL:
            return {}
        places = [tuple(name.casefold() for name in place.parts) for place in (*hidden().dirs, *hidden().files)]
        root = tuple(name.casefold() for name in self.root.parts)
        inside = [place[len(root) :] for place in places if place[: len(root)] == root and len(place) > len(root)]
        found: dict[tuple[str, ...], frozenset[str]] = {}
        for place in (*MASKED, *inside):
            found[place[:-1]] = found.get(place[:-1], frozenset()) | {place[-1]}
        return found

    def check_writable(self, path: str) -> None:
        """Raises what a write to `path` would raise for its name; nothing need be there, and nothing is made."""
        self._may_write(path)
        if not self.confined:
            return
        base, parts = self._inside(path, self.full_path(path))
        if base != self.root:
            raise Forbidden(f'Access denied: "{path}" is outside the allowed sandbox paths')
        self._check_masks(path, tuple(parts), writing=True)

    # -- places ---------------------------------------------------------------------------------------------------

    def full_path(self, path: str) -> Path:
        """The absolute path that a tool argument names (not resolved): relative to the root, `~/` = home."""
        if "\0" in path:
            raise BadRequest("A path must not contain NUL")
        try:
            size = len(os.fsencode(path))
        except UnicodeEncodeError as error:
            raise BadRequest("A path must be valid text") from error
        if size > MAX_PATH:
            raise BadRequest(f"A path has at most {MAX_PATH} bytes")
        if path == "~" or path.startswith("~/"):
            return Path.home() / path[2:]
        return self.root / path

    def _may_write(self, path: str) -> None:
        if self.level is Access.READONLY:
            raise Forbidden(f'Access denied: readonly session cannot write to "{path}"')

    @contextmanager
    def spot(
        self, path: str, *, writing: bool = False, create: bool = False, keep_link: bool = False
    ) -> Iterator[Spot]:
        """create: missing folders are made. writing: what is there will be changed; then other rules hold.

        keep_link: a link at the end is meant itself. Raises HaloError or OSError: use it inside `errors`.
        """
        full = self.full_path(path)
        writes = writing or create
        if self.confined:
            with (
                self._confined_spot(path, full, writing=writes, create=create, keep_link=keep_link) as spot,
                self._vouching(spot, writes),
            ):
                yield spot
            return
        full = _real(full, keep_link=keep_link)
        if create:
            self._make_parents(full.parent)
        folder = os.open(full.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            spot = Spot(folder, full.name or ".", full.parent)
            with self._vouching(spot, writes):
                yield spot
        finally:
            os.close(folder)

    def _vouching(self, spot: Spot, writes: bool) -> AbstractContextManager[None]:
        """Below full access control files were refused already."""
        return vouching(spot.where / spot.name) if writes and self.level is Access.FULL else nullcontext()

    def _make_parents(self, folder: Path) -> None:
        """Missing folders above a new file. A workspace root that vanished is never made again."""
        inside = folder == self.root or self.root in folder.parents
        if inside and not self.root.is_dir():
            raise NotFound(f"The workspace folder {self.root} is gone")
        folder.mkdir(parents=True, exist_ok=True)

    @contextmanager
    def folder(self, path: str) -> Iterator[int]:
        """A handle of an opened folder. Use it inside `errors`."""
        with self.spot(path) as spot:
            flags = DIR if self.confined else DIR & ~os.O_NOFOLLOW
            handle = os.open(spot.name, flags, dir_fd=spot.folder)
            try:
                yield handle
            finally:
                os.close(handle)

    @contextmanager
    def _confined_spot(self, path: str, full: Path, *, writing: bool, create: bool, keep_link: bool) -> Iterator[Spot]:
        base, parts = self._inside(path, full)
        if writing and base != self.root:
            raise Forbidden(f'Access denied: "{path}" is outside the allowed sandbox paths')
        check = partial(
            self._check_masks if base == self.root else partial(_check_readable, base), path, writing=writing
        )
        walk = Walk(base, path, check, create=create)
        try:
            spot = walk.to(parts, keep_link=keep_link)
            reached = (*walk.names, *([spot.name] if spot.name != "." else []))
            check(reached)
            with self._no_repository(path, reached) if writing else nullcontext():
                yield spot
        finally:
            walk.close()

    def _inside(self, path: str, full: Path) -> tuple[Path, list[str]]:
        """The base folder that holds `full`, and the components below it. Nothing on disk is looked at."""
        parts = full.parts
        if ".." in parts:
            raise Outside("Path traversal not allowed", path=path)
        for base in (self.root, *self.readable):
            if parts[: len(base.parts)] == base.parts:
                return base, list(parts[len(base.parts) :])
        if os.path.isabs(path) or path.startswith("~"):
            raise Outside(f'Access denied: "{path}" is outside the allowed sandbox paths')
        raise Outside("Path traversal not allowed", path=path)

    def _check_masks(self, path: str, reached: tuple[str, ...], *, writing: bool) -> None:
        if self.level is Access.FULL:
            return
        folded = tuple(name.casefold() for name in reached)  # a file system may ignore case
        if is_masked(folded) or hidden().covers(self.root.joinpath(*reached)):
            raise Forbidden(f'Access denied: "{path}" is outside the allowed sandbox paths')
        if writing and (is_control_file(folded) or steering(self.root, [reached])):
            raise _steers(path)

    @contextmanager
    def _no_repository(self, path: str, reached: tuple[str, ...]) -> Iterator[None]:
        """Around a write: two at once, each harmless by itself, must not complete a bare repository either."""
        places = [] if self.level is Access.FULL else unfinished(self.root, reached)
        try:
            yield
        finally:
            completed = [place for place in places if is_bare_folder(place.parent)]
            held = [place for place in completed if set_aside(self.root, place)]
        if held:
            raise _steers(path)

    @contextmanager
    def errors(self, path: str) -> Iterator[None]:
        try:
            yield
        except HaloError:
            raise
        except OSError as error:
            raise as_halo_error(error, path) from error


def _steers(path: str) -> Forbidden:
    return Forbidden(f'Access denied: "{path}" steers agents or git; changing it needs full access')


def _check_readable(base: Path, path: str, reached: tuple[str, ...], *, writing: bool) -> None:
    """The shared folder of the home: no logs and no databases of it."""
    if hidden().covers(base.joinpath(*reached)):
        raise Forbidden(f'Access denied: "{path}" is outside the allowed sandbox paths')
    if reached and (reached[0] in HIDDEN_GLOBAL or reached[0].rpartition(".db")[1]):
        raise Forbidden(f'Access denied: "{path}" is outside the allowed sandbox paths')


def _real(full: Path, *, keep_link: bool) -> Path:
    """Links resolved; composed or decomposed as it is on disk (CASES C61), new names composed."""
    folder, name = os.path.split(full)
    real = Path(os.path.realpath(folder), name) if keep_link else Path(os.path.realpath(full))
    if str(real).isascii() or os.path.lexists(real):
        return real
    found = Path(real.anchor)
    for part in real.parts[1:]:
        forms = (part, *(unicodedata.normalize(form, part) for form in ("NFC", "NFD")))
        found /= next((one for one in forms if os.path.lexists(found / one)), forms[1])
    return found


def _whole_lines(file: FileIO) -> int:
    """Where the last whole line of a file ends; 0 = it has none."""
    at = os.fstat(file.fileno()).st_size
    while at > 0:
        start = max(0, at - 65536)
        file.seek(start)
        found = file.read(at - start).rfind(b"\n")
        if found >= 0:
            return start + found + 1
        at = start
    return 0
