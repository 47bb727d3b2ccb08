"""What was deleted over the API stays for a week and can be put back (spec files-git-terminal, Where to go beyond).

`.halo/trash/<Unix ms>/` has `info.json` and `files/<name>`, moved there in one step. The info comes first and is
removed first: what has one is whole. Below full access nobody sees the folder; there is only what stands here.
"""

import errno
import logging
import os
import stat
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import orjson

from halo_site.lib.atomic_file import replace_in
from halo_site.lib.errors import Conflict, HaloError, NotFound

from ..jail import Jail
from ..protected import TRASH, may_steer
from ..sandbox.ledger import records, vouching
from ..walk import DIR, READ, Spot, Walk
from .remove import ANY_STATE, check_below, erase, leaving, locked, names_below
from .version import Baseline

log = logging.getLogger("halo.files")

LIFE = 7 * 24 * 3600 * 1000  # ms
MOST_LISTED = 1_000
MAX_INFO = 64 * 1024  # bytes
INFO, FILES = "info.json", "files"
NOT_THERE = "This is not in the trash"
TO_GIT = b"*\n"  # what is in the trash is in no commit


@dataclass(frozen=True, slots=True)
class Discarded:
    """path: where it was, relative to the workspace. by: name of the person. size: of a file, in bytes."""

    id: int  # Unix milliseconds of the deletion
    path: str
    by: str
    is_dir: bool
    size: int

    @property
    def gone_at(self) -> int:
        return self.id + LIFE


@dataclass(frozen=True, slots=True)
class Slot:
    """One thing in the trash, opened."""

    what: Discarded
    bin: int
    spot: Spot


def discard(jail: Jail, path: str, base: Baseline = ANY_STATE, *, by: str = "") -> int | None:
    """Move into the trash what `remove` would remove. The id; 0 = it is gone for good; None = there was nothing.

    Gone for good is what lies in the trash, and a folder that holds it. Raises as `remove`, and Conflict for what
    lies on another disk.
    """
    try:
        with leaving(jail, path, base) as spot:
            was = spot.where / spot.name
            trash = Path(os.path.realpath(jail.root.joinpath(*TRASH)))
            if was.is_relative_to(trash) or trash.is_relative_to(was):
                erase(spot)
                return 0
            with _bin(jail.root, create=True) as folder:
                return _take_in(folder, spot, was.relative_to(jail.root).as_posix(), by)
    except NotFound:
        return None


def listed(jail: Jail) -> list[Discarded]:
    """What this caller might put back, the newest first, MOST_LISTED at most."""
    found: list[Discarded] = []
    with suppress(FileNotFoundError, NotADirectoryError), _bin(jail.root) as folder:
        for number in sorted(_numbers(folder), reverse=True):
            with suppress(HaloError, OSError), _slot(folder, number) as slot:
                jail.check_writable(slot.what.path)
                found.append(slot.what)
            if len(found) >= MOST_LISTED:
                break
    return found


def restore(jail: Jail, number: int, to: str | None = None) -> str:
    """Back to where it was, or to another path; missing folders above it are made. Returns the path.

    Raises NotFound, Conflict when something is there by now, Forbidden as a write there would.
    """
    with _opened(jail, number) as slot:
        path = to or slot.what.path
        jail.check_writable(path)
        with (
            jail.errors(path),
            jail.spot(path, create=True, keep_link=True) as there,
            locked(there.folder),
        ):
            if there.name == "." or _exists(there):
                raise Conflict(f"{path} already exists")
            os.rename(slot.spot.name, there.name, src_dir_fd=slot.spot.folder, dst_dir_fd=there.folder)
            os.fsync(there.folder)
            back = there.where / there.name
        if slot.what.is_dir:
            _vouch_below(back)
        with suppress(OSError, HaloError):  # it is back; the empty rest goes with its time
            _clear(slot.bin, number)
        return path


def purge(jail: Jail, number: int) -> Discarded:
    """Delete for good what is in the trash. Raises NotFound, Forbidden as its deletion would."""
    with _opened(jail, number) as slot, jail.errors(slot.what.path):
        _clear(slot.bin, number)
        return slot.what


def age_out(root: Path, now: float | None = None) -> int:
    """Remove what is older than a week; returns how much. Never raises. now: Unix seconds."""
    oldest, removed = (time.time() if now is None else now) * 1000 - LIFE, 0
    with suppress(OSError, HaloError), _bin(root) as folder:
        for number in _numbers(folder):
            if number < oldest:
                try:
                    _clear(folder, number)
                    removed += 1
                except (OSError, HaloError) as error:
                    log.warning("%s stays in the trash of %s: %s", number, root, error)
    return removed


def _take_in(folder: int, spot: Spot, path: str, by: str) -> int:
    number = time.time_ns() // 1_000_000
    while True:
        try:
            os.mkdir(str(number), 0o700, dir_fd=folder)
            break
        except FileExistsError:  # deleted in the same millisecond
            number += 1
    try:
        with ExitStack() as stack:
            place = _folder(stack, str(number), folder)
            replace_in(place, INFO, orjson.dumps({"path": path, "by": by}))
            os.mkdir(FILES, 0o700, dir_fd=place)
            os.fsync(place)
            os.fsync(folder)
            files = _folder(stack, FILES, place)
            os.rename(spot.name, spot.name, src_dir_fd=spot.folder, dst_dir_fd=files)
            os.fsync(files)
    except BaseException as error:
        with suppress(OSError, HaloError):
            _clear(folder, number)
        if isinstance(error, OSError) and error.errno == errno.EXDEV:
            text = f"{path} lies on another disk than .halo/trash; it can only be deleted for good (permanent=1)"
            raise Conflict(text) from error
        raise
    return number


@contextmanager
def _bin(root: Path, *, create: bool = False) -> Iterator[int]:
    """The trash folder, opened. Raises OSError; Forbidden when it lies outside the workspace."""
    walk = Walk(root, "/".join(TRASH), lambda _names: None, create=create)
    try:
        folder = walk.to([*TRASH, "."]).folder
        if create:
            with suppress(FileExistsError):
                flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
                with os.fdopen(os.open(".gitignore", flags, 0o644, dir_fd=folder), "wb") as file:
                    file.write(TO_GIT)
        yield folder
    finally:
        walk.close()


def _numbers(folder: int) -> list[int]:
    return [int(name) for name in os.listdir(folder) if name.isascii() and name.isdigit() and len(name) < 16]


@contextmanager
def _opened(jail: Jail, number: int) -> Iterator[Slot]:
    """One thing that this caller may take out. Raises NotFound, Forbidden."""
    with ExitStack() as stack:
        try:
            folder = stack.enter_context(_bin(jail.root))
            slot = stack.enter_context(_slot(folder, number))
            jail.check_writable(slot.what.path)
            if slot.what.is_dir:
                check_below(jail, slot.spot, PurePosixPath(slot.what.path).parts)
        except OSError as error:
            raise NotFound(NOT_THERE) from error
        yield slot


@contextmanager
def _slot(folder: int, number: int) -> Iterator[Slot]:
    """Raises OSError or NotFound for what is no whole one."""
    with ExitStack() as stack:
        place = _folder(stack, str(number), folder)
        info = _info(place)
        path = PurePosixPath(info["path"])
        files = _folder(stack, FILES, place)
        found = os.stat(path.name, dir_fd=files, follow_symlinks=False)
        is_dir = stat.S_ISDIR(found.st_mode)
        what = Discarded(number, str(path), info["by"], is_dir, 0 if is_dir else found.st_size)
        yield Slot(what, folder, Spot(files, path.name, Path(*TRASH, str(number), FILES)))


def _info(place: int) -> dict[str, Any]:
    """`path` and `by`, both text; the path names something."""
    with os.fdopen(os.open(INFO, READ, dir_fd=place), "rb") as file:
        try:
            info = orjson.loads(file.read(MAX_INFO))
        except orjson.JSONDecodeError as error:
            raise NotFound(NOT_THERE) from error
    path = info.get("path") if isinstance(info, dict) else None
    if not isinstance(path, str) or "\0" in path or PurePosixPath(path).name in ("", ".."):
        raise NotFound(NOT_THERE)
    return {"path": path, "by": str(info.get("by") or "")}


def _folder(stack: ExitStack, name: str, parent: int) -> int:
    handle = os.open(name, DIR, dir_fd=parent)
    stack.callback(os.close, handle)
    return handle


def _clear(folder: int, number: int) -> None:
    """The info first: what has none is not shown, and goes with its time."""
    with suppress(FileNotFoundError), ExitStack() as stack:
        os.unlink(INFO, dir_fd=_folder(stack, str(number), folder))
    erase(Spot(folder, str(number), Path(*TRASH)))


def _exists(spot: Spot) -> bool:
    try:
        os.stat(spot.name, dir_fd=spot.folder, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True


def _vouch_below(folder: Path) -> None:
    """Commands that run here meanwhile did not make the control files that came back with a folder."""
    if not records():
        return
    with suppress(OSError), ExitStack() as stack:
        parent = os.open(folder.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        stack.callback(os.close, parent)
        for names in names_below(Spot(parent, folder.name, folder.parent)):
            if may_steer(tuple(name.casefold() for name in names)):
                with vouching(folder.joinpath(*names)):
                    pass
