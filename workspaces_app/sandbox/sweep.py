"""Control files of a workspace: found before a command, and looked for again while it runs and after it (S3).

What exists is mounted read-only. A mount cannot protect a name that is not there, and placeholders would show up in the
person's folder; so what a command made under such a name is set aside (renamed to `NAME.held`). Meanwhile nobody goes
by it (`ledger.py`).
A repository that was freshly made or cloned stays if git would run nothing of it; with its own instruction files if
its folder is fresh, too.
"""

import os
import stat
import time
from collections import deque
from collections.abc import Callable, Iterator, Set
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple

from ..protected import GIT_CONTROL, GIT_FILES, GIT_PARTS, INSTRUCTION_FILES, WORK_FOLDERS, is_bare
from .held import put_back, set_aside
from .repositories import is_harmless

MAX_FOLDERS = 50_000
MAX_SECONDS = 2.0

CLOCK = 1.0  # seconds that the time stamps of files may be behind

CONTROL = INSTRUCTION_FILES | GIT_FILES | {".halo", ".git"}

Identity = tuple[int, int]


class Stamp(NamedTuple):
    """A file as somebody left it. `changed` (ns) is set by the kernel; nobody can set it back."""

    device: int
    inode: int
    changed: int

    @classmethod
    def of(cls, status: os.stat_result) -> "Stamp":
        return cls(status.st_dev, status.st_ino, status.st_ctime_ns)


@dataclass(slots=True)
class Found:
    """Absolute paths, outer first. `links`: control names that are links, and where to; no mount can hold those.

    bare: repositories without a `.git`, and what makes or steers each.
    parts: what bears such a name in whatever folder: it may be a project's own `hooks` or `config`.
    vouched: what somebody with full access wrote since. began: time (s) of the look.
    folders: those seen; None = not known.
    """

    halo: list[Path] = field(default_factory=list)
    git: list[Path] = field(default_factory=list)
    files: list[Path] = field(default_factory=list)
    links: dict[Path, str] = field(default_factory=dict)
    bare: dict[Path, list[Path]] = field(default_factory=dict)
    seen: set[Identity] = field(default_factory=set)
    parts: set[Identity] = field(default_factory=set)
    folders: set[Identity] | None = None
    vouched: set[Stamp] = field(default_factory=set)
    whole: bool = True  # False = the workspace is too large to look through; the outer folders were
    began: float = field(default_factory=time.time)

    def all(self) -> Iterator[Path]:
        yield from (*self.halo, *self.git, *self.files, *self.links, *self.steering())

    def steering(self) -> Iterator[Path]:
        """What git obeys in the bare repositories."""
        for parts in self.bare.values():
            yield from (path for path in parts if path.name.casefold() in GIT_CONTROL and path not in self.links)


Visit = Callable[[Path], object]


def look(*begin: Path, seconds: float = MAX_SECONDS, most: int = MAX_FOLDERS, visit: Visit | None = None) -> Found:
    """Walks breadth first, follows no link, never fails for what it may not read.

    begin: a workspace, or folders of one. most: folders, `len(begin)` = these alone. visit: called with each folder
    before it is looked into.
    """
    found = Found(folders=set())
    end = time.monotonic() + seconds
    todo = deque(begin)
    folders = 0
    while todo:
        folders += 1
        if folders > most or (folders % 256 == 0 and time.monotonic() > end):
            found.whole = False
            break
        folder = todo.popleft()
        if visit is not None:
            visit(folder)
        parts: list[os.DirEntry[str]] = []
        with suppress(OSError), os.scandir(folder) as entries:
            for entry in entries:
                name = entry.name.casefold()
                if name in GIT_PARTS:
                    parts.append(entry)
                _take(entry, name, found, todo, visit)
        if parts:
            with suppress(OSError):
                _take_parts(folder, parts, found)
    return found


def _take(entry: "os.DirEntry[str]", name: str, found: Found, todo: "deque[Path]", visit: Visit | None) -> None:
    if name not in CONTROL:
        if entry.is_dir(follow_symlinks=False):
            todo.append(Path(entry.path))
            if found.folders is not None:
                with suppress(OSError):
                    found.folders.add(_identity(entry.stat(follow_symlinks=False)))
        return
    path = Path(entry.path)
    kind = found.halo if name == ".halo" else found.git if name == ".git" else found.files
    if _note(path, kind, found) and name == ".git" and entry.is_dir(follow_symlinks=False):
        if visit is not None:
            visit(path)
        with suppress(OSError):
            for inner in sorted(path.iterdir()):
                if inner.name.casefold() in GIT_CONTROL:
                    if visit is not None:
                        visit(inner)
                    _note(inner, found.files, found)
    if name == ".halo" and not entry.is_symlink():  # commands may write in its work folders
        todo.extend(work_folders(path))
    if name == ".git" and entry.is_file(follow_symlinks=False):
        found.git.remove(path)
        found.files.append(path)  # a pointer to a repository elsewhere


def work_folders(halo: Path) -> list[Path]:
    """Those there are in a `.halo`. A link is none."""
    found = []
    for name in sorted(WORK_FOLDERS):
        with suppress(OSError):
            if stat.S_ISDIR((halo / name).lstat().st_mode):
                found.append(halo / name)
    return found


def _take_parts(folder: Path, parts: "list[os.DirEntry[str]]", found: Found) -> None:
    names: set[str] = set()
    for entry in parts:
        with suppress(OSError):
            found.parts.add(_identity(entry.stat(follow_symlinks=False)))
            if entry.name.casefold() != "head" or not entry.is_dir(follow_symlinks=False):
                names.add(entry.name.casefold())
    if is_bare(names):
        found.seen.add(_identity(folder.lstat()))
        found.bare[folder] = [Path(entry.path) for entry in parts]
        for path in found.bare[folder]:
            if path.name.casefold() in GIT_CONTROL:
                _note(path, [], found)


def _note(path: Path, kind: list[Path], found: Found) -> bool:
    """Into `kind`, or among the links. False for a link and for what vanished meanwhile."""
    try:
        status = path.lstat()
        if stat.S_ISLNK(status.st_mode):
            found.links[path] = os.readlink(path)
            return False
    except OSError:
        return False
    kind.append(path)
    found.seen.add(_identity(status))
    return True


def _identity(status: os.stat_result) -> Identity:
    return status.st_dev, status.st_ino


def settle(root: Path, before: Found) -> list[str]:
    """After a command: set aside what it made under a control name. Returns the old names, relative to `root`."""
    return clear(root, before, look(root))


def clear(root: Path, before: Found, after: Found, *, finished: bool = True) -> list[str]:
    """Set aside what is new in `after`. Returns the old names, relative to `root`.

    finished: False while the command runs: a repository may still be in the making, a link be made anew.
    """
    harmless = cache(partial(is_harmless, finished=finished))
    fresh = suspects(before, after)
    all_fresh = set(fresh)
    kept = {path for path in fresh if _is_kept(root, path, before, after, all_fresh, harmless)}  # before anything moves
    held: list[str] = []
    for path in fresh:
        if path in kept or any(path.is_relative_to(root / name) for name in held):
            continue  # went with a folder above it
        if set_aside(root, path):
            held.append(str(path.relative_to(root)))
    for path in moved_links(before, finished=finished):
        if put_back(root, path, before.links[path]):
            held.append(str(path.relative_to(root)))
    return sorted(set(held))


def suspects(before: Found, after: Found) -> list[Path]:
    """What is new under a control name, and what makes a folder a new bare repository; outer first."""
    bare = {folder for folder in after.bare if _is_new_bare(folder, before, after)}
    fresh = {
        path
        for path in after.all()
        if path not in before.links
        and is_new(path, before)
        and not (path.parent in bare and _was_there(path, before))  # a project's own folder by that name
    }
    for folder in bare:
        fresh.update(_completing(after.bare[folder], before))
    return sorted(fresh, key=lambda path: (len(path.parts), path))


def moved_links(before: Found, *, finished: bool) -> list[Path]:
    """Control names that were links and lead elsewhere now, or are none any more."""
    found = []
    for path, target in before.links.items():
        try:
            now = os.readlink(path)
        except FileNotFoundError:
            now = target if not finished else ""  # whoever makes a link anew removes it first
        except OSError:
            now = ""
        if now != target and not _is_vouched(path, before):
            found.append(path)
    return found


Judge = Callable[[Path], bool]


def _is_kept(root: Path, path: Path, before: Found, after: Found, fresh: Set[Path], harmless: Judge) -> bool:
    """Whether it belongs to a repository that the command made and of which git runs nothing."""
    name = path.name.casefold()
    if name == ".halo" or path.is_symlink():
        return False
    if name == ".git":
        return harmless(path)
    if path.parent.name.casefold() == ".git":
        return path.parent in fresh and harmless(path.parent)
    if name in GIT_PARTS:
        return _is_new_bare(path.parent, before, after) and harmless(path.parent)
    return _is_cloned(root, path, before, harmless)


def _is_cloned(root: Path, path: Path, before: Found, harmless: Judge) -> bool:
    """Whether an instruction file came with its repository: everything down to it is as fresh."""
    if not before.whole or before.folders is None:
        return False
    for folder in path.parents:
        if folder == root:
            break
        with suppress(OSError):
            if _identity(folder.lstat()) in before.folders:
                break
            git = folder / ".git"
            if os.path.lexists(git):
                return is_new(git, before) and harmless(git)
    return False


def _is_new_bare(folder: Path, before: Found, after: Found) -> bool:
    try:
        if _identity(folder.lstat()) in before.seen:
            return False
    except OSError:
        return False
    return before.whole or is_new(_making(after.bare[folder])["head"], before)


def _making(parts: list[Path]) -> dict[str, Path]:
    """What makes it a repository. Where git tells `HEAD` from `head`, it is the one that git reads."""
    ordered = sorted(parts, key=lambda path: path.name in ("HEAD", "refs", "objects"))
    return {path.name.casefold(): path for path in ordered}


def _completing(parts: list[Path], before: Found) -> list[Path]:
    """The one thing to take away, so that it is no repository: what the command made, rather than what was there."""
    making = _making(parts)
    head = making["head"]
    if _is_vouched(head, before):
        return []
    made = (making[name] for name in ("head", "refs", "objects") if name in making)
    return [next((path for path in made if not _was_there(path, before)), head)]


def _was_there(path: Path, before: Found) -> bool:
    """Under the name of a part, in whatever folder. In a workspace too large to look through: by its time."""
    with suppress(OSError):
        status = path.lstat()
        return _identity(status) in before.parts or not (before.whole or status.st_ctime > before.began - CLOCK)
    return False


def is_new(path: Path, before: Found) -> bool:
    """Not there before, neither under this name nor, in a folder that was renamed, under another; nor vouched for.

    For a control name that is a link: it leads elsewhere now.
    """
    try:
        status = path.lstat()
        if Stamp.of(status) in before.vouched:
            return False
        if path in before.links:
            return not stat.S_ISLNK(status.st_mode) or os.readlink(path) != before.links[path]
    except OSError:
        return False
    if _identity(status) in before.seen:
        return False
    return before.whole or status.st_ctime > before.began - CLOCK


def _is_vouched(path: Path, before: Found) -> bool:
    with suppress(OSError):
        return Stamp.of(path.lstat()) in before.vouched
    return False
