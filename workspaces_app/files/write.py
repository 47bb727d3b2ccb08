"""Saves: all or nothing, to disk, and only over the state they are based on (spec http-api, Files)."""

import os
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass

from halo_site.lib.atomic_file import folder_lock
from halo_site.lib.errors import BadRequest, NotFound

from ..jail import Jail
from ..walk import Spot, regular_or_absent
from .version import Baseline, milliseconds


@dataclass(frozen=True, slots=True)
class Saved:
    mtime: float  # Unix milliseconds
    size: int


def save(jail: Jail, path: str, pieces: Iterable[bytes], base: Baseline, *, must_exist: bool = False) -> Saved:
    """Replace a file as a whole; without `must_exist` a new one is made, and the folders above it.

    The pieces go to a temporary file first. Under the folder's lock the state on disk is compared with the base, so
    that of two saves with one base exactly one wins. Mode and owner stay. Raises Conflict, NotFound, BadRequest
    (a folder), Forbidden, StorageFull; then the old file is whole and nothing else is left.
    """
    if must_exist:
        _check_there(jail, path)
    with jail.draft(path, create=not must_exist) as (spot, file):
        _check_kind(spot, path, must_exist)
        for piece in pieces:
            file.write(piece)
        file.sync()
        with folder_lock(spot.folder):
            found = _check_kind(spot, path, must_exist)
            base.check(spot, found)
            if found is not None:
                _keep_owner(spot, file.temporary, found)
            now = file.publish(spot.name)
    return Saved(milliseconds(now), now.st_size)


def _check_there(jail: Jail, path: str) -> None:
    """Before the body is read, and before a folder is looked at for a temporary file."""
    jail.stat(path)


def _check_kind(spot: Spot, path: str, must_exist: bool) -> os.stat_result | None:
    try:
        found = regular_or_absent(spot, path)
    except IsADirectoryError as error:
        raise BadRequest("Path is a directory") from error
    if found is None and must_exist:
        raise NotFound("File not found")
    return found


def _keep_owner(spot: Spot, temporary: str, found: os.stat_result) -> None:
    mine = os.stat(temporary, dir_fd=spot.folder, follow_symlinks=False)
    if (mine.st_uid, mine.st_gid) != (found.st_uid, found.st_gid):
        with suppress(OSError):  # only root may give files away
            os.chown(temporary, found.st_uid, found.st_gid, dir_fd=spot.folder, follow_symlinks=False)
