"""Putting an extension in its place and taking it away (spec canvas-extensions 3.1), in the words of the server.

Every way in makes a staging folder, has it judged by the scanner's own reader, and ends in one rename of a direct child
of the root (`steps`). After a crash at any step `recover` finds the old or the new version whole.
"""

import os
import shutil
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from halo_site.lib.crashpoint import crashpoint
from halo_site.lib.errors import BadRequest, Conflict, NotFound, StorageFull
from halo_site.lib.zips import MOST_BYTES, MOST_ENTRIES

from . import steps
from .scanner import Installed
from .steps import OLD, STAGING

STALE = 3600  # seconds after which a staging folder belongs to nobody


def install_zip(root: Path, file: BinaryIO, *, expect: str | None = None, older: bool = False) -> Installed:
    """Install or replace from a zip. expect: the id it must have. older: also over a newer version.

    Raises BadRequest, Conflict; then nothing has changed.
    """
    with _in_words():
        return steps.install_zip(root, file, expect=expect, older=older, step=_reached)


def install_folder(root: Path, source: Path, *, expect: str | None = None, older: bool = False) -> Installed:
    """The same from a folder, which is copied; links in it are refused."""
    with _in_words(), steps.staging(root) as place:
        copy_folder(source, place)
        return steps.move_in(root, place, expect, older=older, step=_reached)


def remove(root: Path, name: str) -> None:
    """Take away a direct child of the root, by the name it has on the disk. Raises NotFound."""
    try:
        steps.remove(root, name)
    except steps.Missing as error:
        raise NotFound("Extension not installed") from error


def recover(root: Path, *, now: float | None = None) -> None:
    """At start: an old version whose new one never came goes back; what else was left is removed."""
    moment = time.time() if now is None else now
    with steps.locked(root):
        for place in sorted(root.iterdir()):
            if place.name.startswith(OLD):
                ident = place.name.removeprefix(OLD).rpartition("-")[0]
                if ident and not os.path.lexists(root / ident):
                    os.rename(place, root / ident)
                else:
                    shutil.rmtree(place, ignore_errors=True)
            elif place.name.startswith(STAGING):
                with suppress(FileNotFoundError):
                    if moment - place.lstat().st_mtime > STALE:
                        shutil.rmtree(place, ignore_errors=True)


def _reached(step: str) -> None:
    crashpoint(f"extension.{step}")


@contextmanager
def _in_words() -> Iterator[None]:
    """What `steps` raises, as the server says it."""
    try:
        yield
    except steps.Older as error:
        said = error.manifest
        raise Conflict(
            f"Not installed: {error}", id=said.id, version=said.version, installed=error.installed
        ) from error
    except steps.Refused as error:
        raise BadRequest(f"Not installed: {error}") from error
    except steps.Stuck as error:
        raise Conflict(f"Not installed: {error}") from error
    except OSError as error:
        raise StorageFull(f"Not installed: {os.strerror(error.errno or 0)}") from error


def copy_folder(source: Path, target: Path) -> None:
    """Regular files and folders, within the limits of a zip. Hidden ones and a developer's packages stay behind."""
    count = size = 0
    for place, folders, files in os.walk(source):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name != "node_modules")
        here = target / os.path.relpath(place, source)
        here.mkdir(exist_ok=True, mode=0o755)
        for name in [*folders, *(name for name in files if not name.startswith("."))]:
            found = os.lstat(os.path.join(place, name))
            if not stat.S_ISREG(found.st_mode) and not stat.S_ISDIR(found.st_mode):
                raise BadRequest(f"Not installed: {name} is a link or a special file")
            count, size = count + 1, size + (found.st_size if stat.S_ISREG(found.st_mode) else 0)
        if count > MOST_ENTRIES or size > MOST_BYTES:
            raise BadRequest("Not installed: the folder holds too much")
        for name in files:
            if not name.startswith("."):
                shutil.copyfile(os.path.join(place, name), here / name, follow_symlinks=False)
