"""The files that steer agents, as they lie on disk: to notice that somebody changed one (SECURITY-BAR F4)."""

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from .protected import INSTRUCTION_FILES, WORK_FOLDERS

MOST = 5_000  # files looked at
# Kept by the server itself, or by people's work, or deleted: not what steers an agent.
QUIET = WORK_FOLDERS | {"sessions", "logs", "evo", "trash"}
SHARED = ("agents", "skills", "prompts", "models")  # folders of the home's global part; its own *.md count too

Stamp = tuple[int, int, int]  # time, size, inode


def control_state(workspace: Path, shared: Path) -> dict[str, Stamp]:
    """Path -> stamp of every control file of a workspace and of the home's `global` folder. Follows no link."""
    found: dict[str, Stamp] = {}
    for entry in _files(workspace, shared):
        if len(found) >= MOST:
            break
        with suppress(OSError):
            status = entry.stat(follow_symlinks=False)
            found[entry.path] = (status.st_mtime_ns, status.st_size, status.st_ino)
    return found


def changed(before: Mapping[str, Stamp], after: Mapping[str, Stamp]) -> list[str]:
    """Paths that came, went or are not what they were, sorted."""
    return sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path))


def _files(workspace: Path, shared: Path) -> "Iterator[os.DirEntry[str]]":
    for entry in _entries(workspace):
        if entry.name.casefold() in INSTRUCTION_FILES:
            yield entry
    for entry in _entries(workspace / ".halo"):
        if entry.name not in QUIET:
            yield from _below(entry)
    for entry in _entries(shared):
        if entry.name in SHARED or entry.name.endswith(".md"):
            yield from _below(entry)


def _below(entry: "os.DirEntry[str]") -> "Iterator[os.DirEntry[str]]":
    if not entry.is_dir(follow_symlinks=False):
        yield entry
        return
    for inner in _entries(Path(entry.path)):
        yield from _below(inner)


def _entries(folder: Path) -> "list[os.DirEntry[str]]":
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        return []
