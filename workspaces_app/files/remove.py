"""Remove and move files and folders. Nothing outside is touched, whatever changes on disk meanwhile."""

import errno
import os
import stat
import unicodedata
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import PurePosixPath

from halo_site.lib.access_level import Access
from halo_site.lib.atomic_file import folder_lock
from halo_site.lib.errors import BadRequest, Conflict, Forbidden, NotFound, TooLarge

from ..jail import Jail
from ..walk import DIR, Spot
from .version import Baseline

MOST_CHECKED = 200_000  # entries
ANY_STATE = Baseline()


def remove(jail: Jail, path: str, base: Baseline = ANY_STATE) -> bool:
    """A file, a link (not what it points to) or a folder with all that is in it. False = there was nothing.

    Below full access a folder that holds a control file stays as it is (SECURITY-BAR S3).
    Raises Forbidden for the root and where the caller may not write, Conflict when it is not as in `base`.
    """
    try:
        with leaving(jail, path, base) as spot:
            erase(spot)
    except NotFound:
        return False
    return True


@contextmanager
def leaving(jail: Jail, path: str, base: Baseline = ANY_STATE) -> Iterator[Spot]:
    """What is at `path`, about to go: the caller may take it away, and it is as in `base` and stays so meanwhile.

    Raises as `remove`, and NotFound.
    """
    jail.check_writable(path)
    with jail.errors(path), jail.spot(path, writing=True, keep_link=True) as spot:
        if spot.name == ".":
            raise Forbidden("Cannot delete project root")
        with locked(spot.folder if base.given else None):
            found = os.stat(spot.name, dir_fd=spot.folder, follow_symlinks=False)
            base.check(spot, found)
            if stat.S_ISDIR(found.st_mode):
                check_below(jail, spot, (spot.where / spot.name).relative_to(jail.root).parts)
            yield spot
        os.fsync(spot.folder)


def erase(spot: Spot) -> None:
    """A file, a link, or a folder with all that is in it. Raises OSError, Conflict."""
    if stat.S_ISDIR(os.stat(spot.name, dir_fd=spot.folder, follow_symlinks=False).st_mode):
        _remove_tree(spot)
    else:
        os.unlink(spot.name, dir_fd=spot.folder)


def move(jail: Jail, old: str, new: str, base: Baseline = ANY_STATE) -> None:
    """Give a file, link or folder another name or place; missing folders above the new one are made.

    Raises Conflict when the new name is taken or the old one is not as in `base`, NotFound, BadRequest (a folder into
    itself), Forbidden.
    """
    source, target = _composed(old), _composed(new)
    if source == PurePosixPath():
        raise Forbidden("Cannot move project root")
    if source in target.parents:
        raise BadRequest("A folder cannot be moved into itself")
    jail.check_writable(new)
    with jail.errors(old), jail.spot(old, writing=True, keep_link=True) as here:
        if here.name == ".":
            raise Forbidden("Cannot move project root")
        found = os.stat(here.name, dir_fd=here.folder, follow_symlinks=False)
        base.check(here, found)  # before folders are made for the new name
        if stat.S_ISDIR(found.st_mode):
            check_below(jail, here, (here.where / here.name).relative_to(jail.root).parts)
        with (
            jail.errors(new),
            jail.spot(new, create=True, keep_link=True) as there,
            locked(there.folder, here.folder if base.given else None),
        ):
            if base.given:
                found = os.stat(here.name, dir_fd=here.folder, follow_symlinks=False)
                base.check(here, found)
            if not _free(there, here, found):
                raise Conflict(f"{new} already exists")
            os.rename(here.name, there.name, src_dir_fd=here.folder, dst_dir_fd=there.folder)
            os.fsync(there.folder)
        os.fsync(here.folder)


@contextmanager
def locked(*folders: int | None) -> Iterator[None]:
    """Other writers keep out of these folders; None is passed over. In one order, so that two moves never wait for
    each other, and once for a folder that is named twice."""
    by_inode: dict[tuple[int, int], int] = {}
    for folder in folders:
        if folder is not None:
            found = os.fstat(folder)
            by_inode[found.st_dev, found.st_ino] = folder
    with ExitStack() as stack:
        for inode in sorted(by_inode):
            stack.enter_context(folder_lock(by_inode[inode]))
        yield


def _composed(path: str) -> PurePosixPath:
    return PurePosixPath(unicodedata.normalize("NFC", path))


def _free(there: Spot, here: Spot, moved: os.stat_result) -> bool:
    """True also when only the case changes, on a file system where both names mean the same file."""
    if there.name == ".":
        return False
    try:
        found = os.stat(there.name, dir_fd=there.folder, follow_symlinks=False)
    except FileNotFoundError:
        return True
    one_name = stat.S_ISDIR(found.st_mode) or found.st_nlink == 1
    return os.path.samestat(found, moved) and here.name != there.name and one_name


def check_below(jail: Jail, spot: Spot, top: tuple[str, ...]) -> None:
    """Below full access: raises Forbidden when the folder holds what this caller may not write. top: where it is."""
    if jail.level is Access.FULL:
        return
    for count, names in enumerate(names_below(spot)):
        if count >= MOST_CHECKED:
            raise TooLarge(f"This folder holds more than {MOST_CHECKED} entries; work on its parts")
        jail.check_writable("/".join((*top, *names)))


def names_below(spot: Spot) -> Iterator[tuple[str, ...]]:
    """Of everything in a folder, by handles: a folder that becomes a link meanwhile is not followed."""
    stack: list[tuple[int, Iterator[os.DirEntry[str]], tuple[str, ...]]] = []

    def enter(parent: int, name: str, below: tuple[str, ...]) -> None:
        handle = os.open(name, DIR, dir_fd=parent)
        stack.append((handle, os.scandir(handle), below))

    try:
        enter(spot.folder, spot.name, ())
        while stack:
            handle, entries, below = stack[-1]
            entry = next(entries, None)
            if entry is None:
                os.close(handle)
                stack.pop()
                continue
            names = (*below, entry.name)
            yield names
            if entry.is_dir(follow_symlinks=False):
                enter(handle, entry.name, names)
    finally:
        for handle, _, _ in stack:
            os.close(handle)


def _remove_tree(spot: Spot) -> None:
    """Depth first, by handles: a folder that becomes a link meanwhile is not followed."""
    stack: list[tuple[int, str, list[str]]] = []

    def enter(parent: int, name: str) -> None:
        handle = os.open(name, DIR, dir_fd=parent)
        stack.append((handle, name, []))
        with os.scandir(handle) as found:
            for entry in list(found):
                if entry.is_dir(follow_symlinks=False):
                    stack[-1][2].append(entry.name)
                else:
                    with suppress(FileNotFoundError):
                        os.unlink(entry.name, dir_fd=handle)

    try:
        enter(spot.folder, spot.name)
        while stack:
            handle, name, folders = stack[-1]
            if folders:
                with suppress(FileNotFoundError):
                    enter(handle, folders.pop())
                continue
            parent = stack[-2][0] if len(stack) > 1 else spot.folder
            try:
                os.rmdir(name, dir_fd=parent)
            except OSError as error:
                if error.errno == errno.ENOTEMPTY:
                    raise Conflict(f"Something was written into {name} meanwhile; try again") from error
                raise
            os.close(handle)
            stack.pop()
    finally:
        for handle, _, _ in stack:
            os.close(handle)
