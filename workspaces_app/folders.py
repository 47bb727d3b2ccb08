"""Looking around on the server's own disk, to find a folder to open. For the owner of the server only."""

import os
from dataclasses import dataclass, field
from pathlib import Path

from halo_site.lib.errors import BadRequest, NotFound

MAX_ENTRIES = 2000


@dataclass(frozen=True, slots=True)
class FolderEntry:
    name: str
    path: str
    readable: bool  # the server may look into it
    branch: str | None  # of the git work tree that begins here


@dataclass(slots=True)
class Folder:
    path: str
    parent: str | None
    entries: list["FolderEntry"] = field(default_factory=list)
    truncated: bool = False


def browse(path: str | None) -> Folder:
    """The folders in `path` (default: the home of the server's user), hidden ones left out, by name."""
    place = path or str(Path.home())
    if not os.path.isabs(place) or "\0" in place:
        raise BadRequest("absolute path required")
    place = os.path.normpath(place)
    folder = Folder(place, None if place == os.path.dirname(place) else os.path.dirname(place))
    try:
        with os.scandir(place) as found:
            for entry in found:
                if entry.name.startswith(".") or not _is_folder(entry) or not _is_text(entry.name):
                    continue
                if len(folder.entries) >= MAX_ENTRIES:
                    folder.truncated = True
                    break
                readable = os.access(entry.path, os.R_OK | os.X_OK)
                branch = branch_of(entry.path) if readable else None
                folder.entries.append(FolderEntry(entry.name, entry.path, readable, branch))
    except OSError as error:
        raise NotFound("this folder cannot be read") from error
    folder.entries.sort(key=lambda entry: entry.name.casefold())
    return folder


def branch_of(path: str) -> str | None:
    """The branch a work tree is on, from its HEAD; a detached one by the start of its commit; None = no repository."""
    try:
        # Non-blocking: a pipe under this name must not hold the thread.
        with open(os.open(os.path.join(path, ".git", "HEAD"), os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
            head = file.read(300).decode().strip()
    except (OSError, ValueError):
        return None
    return head.removeprefix("ref: refs/heads/") if head.startswith("ref: ") else head[:7] or None


def _is_folder(entry: "os.DirEntry[str]") -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False


def _is_text(name: str) -> bool:
    """False for names that are not UTF-8: they can be neither shown nor asked for."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True
