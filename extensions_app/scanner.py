"""What is installed: the folders of the extensions root, read and judged (spec canvas-extensions 2.1, 2.3).

The only judge of an extension, whoever put it there: upload, command, skill or a plain copy.
"""

import errno
import os
import stat
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from .manifest import ID, MAX_BYTES, NAME, BadManifest, Manifest, parse

MOST = 1_000  # folders looked at
_DIR = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class Installed:
    manifest: Manifest
    installed_at: int  # Unix milliseconds: when the folder got its name

    def as_dict(self) -> dict[str, Any]:
        """The wire form, camelCase."""
        return {**asdict(self.manifest), "installedAt": self.installed_at}


@dataclass(frozen=True, slots=True)
class Broken:
    """A folder that is no usable extension; it is listed and can be removed."""

    id: str  # the folder's name, as JSON and a page can carry it
    error: str
    folder: str = ""  # its name as the system has it, when that is another


@dataclass(frozen=True, slots=True)
class Snapshot:
    extensions: tuple[Installed, ...] = ()
    errors: tuple[Broken, ...] = ()

    def key(self) -> tuple[object, ...]:
        """Two snapshots with the same key need not be told apart."""
        return (
            tuple((each.manifest.id, each.manifest.version, each.installed_at) for each in self.extensions),
            self.errors,
        )

    def find(self, ident: str) -> Installed | None:
        return next((each for each in self.extensions if each.manifest.id == ident), None)

    def folder_of(self, name: str) -> str | None:
        """The folder that may be removed under a name that was shown; None when there is none."""
        if self.find(name) is not None:
            return name
        found = [each.folder or each.id for each in self.errors if each.id == name]
        return min(found, key=lambda folder: folder != name, default=None)

    def ranked(self) -> list[Installed]:
        """In the order in which they open a file that several of them claim: `default` before `option`, then newest
        install first, then by id."""
        return sorted(
            self.extensions, key=lambda it: (it.manifest.priority != "default", -it.installed_at, it.manifest.id)
        )

    def viewers(self, file_type: str) -> list[str]:
        """The ids that claim a file type; the first one opens such a file."""
        return [each.manifest.id for each in self.ranked() if file_type in each.manifest.extensions]

    def passed_over(self, ident: str) -> dict[str, str]:
        """The file types of an extension that another one opens, with the id of that other."""
        found = self.find(ident)
        first = {kind: self.viewers(kind)[0] for kind in found.manifest.extensions} if found else {}
        return {kind: other for kind, other in first.items() if other != ident}

    def as_dict(self) -> dict[str, Any]:
        """The wire form; extensions in the order of `ranked`."""
        return {
            "extensions": [each.as_dict() for each in self.ranked()],
            "errors": [{"id": each.id, "error": each.error} for each in self.errors],
        }


def scan(root: Path) -> Snapshot:
    """Every folder of the root by name; those that begin with a dot are ours. A missing root is empty."""
    try:
        with os.scandir(root) as listed:
            found = sorted((each.name, each.is_symlink(), each.is_dir()) for each in listed)
    except FileNotFoundError:
        return Snapshot()
    good: list[Installed] = []
    bad: list[Broken] = []
    for name, is_link, is_dir in found[:MOST]:
        if name.startswith(".") or not (is_dir or is_link):
            continue
        if is_link:
            bad.append(_broken(name, "this is a link; copy the folder itself"))
            continue
        try:
            good.append(read_folder(root / name))
        except BadManifest as error:
            bad.append(_broken(name, str(error)))
    return Snapshot(tuple(good), tuple(bad))


def read_folder(folder: Path, *, name: str | None = "") -> Installed:
    """One folder judged. name: what it is called, its own name by default; None = it may have any (before it moves in).

    Raises BadManifest.
    """
    called = folder.name if name == "" else name
    if called is not None and not ID.fullmatch(called):
        raise BadManifest(f"the folder's name is not an id: it must match ^{ID.pattern}$")
    try:
        handle = os.open(folder, _DIR)
        try:
            data = _manifest_of(handle)
            made = os.fstat(handle).st_mtime_ns // 1_000_000
        finally:
            os.close(handle)
    except OSError as error:
        raise BadManifest(f"the folder cannot be read: {os.strerror(error.errno or errno.EIO)}") from error
    return Installed(parse(data, called, lambda entry: inside(folder, entry) is not None), made)


def inside(folder: Path, path: str) -> Path | None:
    """The real path of a regular file in the folder; None when there is none, or a link leads out."""
    top = os.path.realpath(folder)
    real = os.path.realpath(os.path.join(top, path))
    if not real.startswith(top + os.sep) or not os.path.isfile(real):
        return None
    return Path(real)


def _manifest_of(folder: int) -> bytes:
    try:
        handle = os.open(NAME, _READ, dir_fd=folder)
    except FileNotFoundError:
        raise BadManifest(f"there is no {NAME}") from None
    except OSError as error:
        raise BadManifest(f"{NAME} cannot be read: {os.strerror(error.errno or errno.EIO)}") from error
    with os.fdopen(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise BadManifest(f"{NAME} is not a file")
        return file.read(MAX_BYTES + 1)


def _broken(name: str, error: str) -> Broken:
    shown = os.fsencode(name).decode("utf-8", "backslashreplace")
    return Broken(shown, error, "" if shown == name else name)
