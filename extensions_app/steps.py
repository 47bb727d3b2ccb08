"""The six steps of an install, and the one of a removal (spec canvas-extensions 3.1). Standard library only.

This module, `manifest`, `scanner` and `halo_site.lib.zips` are all there is to say about what may be installed: the
`extension` skill gets copies of them beside its script (agents_app/seed.py), so that it and the server cannot disagree.
"""

import fcntl
import os
import secrets
import shutil
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from halo_site.lib.zips import BadArchive, unpack

from .manifest import BadManifest, Manifest, is_older
from .scanner import Installed, read_folder

STAGING, OLD = ".tmp-unpack-", ".old-"
Step = Callable[[str], None]  # told each step that is on the disk
Look = Callable[[Manifest], None]  # told what passed every check, before anything of it counts; may raise


class Refused(Exception):
    """Not an extension we take; the text says why. Nothing has changed."""


class Older(Refused):
    """It is older than what it would replace, and nobody said that it may. Nothing has changed."""

    def __init__(self, manifest: Manifest, installed: str) -> None:
        super().__init__(f"{manifest.id} {manifest.version} is older than {installed}, which is installed")
        self.manifest = manifest
        self.installed = installed


class Stuck(Exception):
    """The disk would not move it in. The old version is back."""


class Missing(Exception):
    """There is no such folder."""


def _nothing(_: object) -> None:
    return


def install_zip(
    root: Path,
    file: BinaryIO,
    *,
    expect: str | None = None,
    older: bool = False,
    look: Look = _nothing,
    step: Step = _nothing,
) -> Installed:
    """Install or replace from a zip. expect: the id it must have. older: also over a newer version.

    Raises Refused, Older, Stuck, OSError.
    """
    with staging(root) as place:
        try:
            unpack(file, place)
        except BadArchive as error:
            raise Refused(str(error)) from error
        return move_in(root, place, expect, older=older, look=look, step=step)


def remove(root: Path, name: str) -> None:
    """Take away a direct child of the root. A link is unlinked, not followed. Raises Missing.

    name: of a folder as the system has it, from a scan; a broken folder may be called anything.
    """
    if name in ("", ".", "..") or "/" in name or "\0" in name:
        raise Missing
    with locked(root):
        try:
            found = os.lstat(root / name)
        except OSError as error:
            raise Missing from error
        if not stat.S_ISDIR(found.st_mode):
            os.unlink(root / name)
            return
        aside = root / f"{STAGING}{secrets.token_hex(6)}"
        os.rename(root / name, aside)  # gone in one step; what follows may take long
    shutil.rmtree(aside, ignore_errors=True)


@contextmanager
def staging(root: Path) -> Iterator[Path]:
    """An empty folder of ours; it is gone afterwards, moved in or removed."""
    root.mkdir(parents=True, exist_ok=True)
    place = root / f"{STAGING}{secrets.token_hex(6)}"
    place.mkdir(mode=0o755)
    try:
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)


@contextmanager
def locked(root: Path) -> Iterator[None]:
    """Two installs do not meet between two renames, whichever program runs them."""
    handle = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def move_in(
    root: Path,
    place: Path,
    expect: str | None,
    *,
    older: bool = False,
    look: Look = _nothing,
    step: Step = _nothing,
) -> Installed:
    """Judge a staging folder and give it its name. Raises Refused, Older, Stuck."""
    try:
        manifest = read_folder(place, name=None).manifest
    except BadManifest as error:
        raise Refused(str(error)) from error
    if expect is not None and manifest.id != expect:
        raise Refused(f"this is {manifest.id}, not {expect}")
    look(manifest)
    step("staged")
    return _swap(root, place, manifest, older, step)


def _swap(root: Path, place: Path, manifest: Manifest, older: bool, step: Step) -> Installed:
    """Old version aside, new one in, old one away."""
    target = root / manifest.id
    aside = root / f"{OLD}{manifest.id}-{secrets.token_hex(6)}"
    with locked(root):
        if not older:
            _check_not_older(target, manifest)
        had = os.path.lexists(target)
        if had:
            os.rename(target, aside)
            step("aside")
        try:
            os.rename(place, target)
        except OSError as error:
            if had:
                os.rename(aside, target)
            raise Stuck(f"{manifest.id} could not be moved in: {error.strerror}") from error
        step("moved_in")
        installed = Installed(manifest, os.stat(target).st_mtime_ns // 1_000_000)
    if aside.is_symlink():
        aside.unlink()
    elif had:
        shutil.rmtree(aside, ignore_errors=True)
    return installed


def _check_not_older(target: Path, manifest: Manifest) -> None:
    """What is broken, or not there, has no version to go back from."""
    try:
        installed = read_folder(target).manifest.version
    except BadManifest:
        return
    if is_older(manifest.version, installed):
        raise Older(manifest, installed)
