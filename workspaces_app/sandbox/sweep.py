"""Control files of a workspace: found before a command, and looked for again after it (SECURITY-BAR S3).

What exists is mounted read-only. A mount cannot protect a name that is not there, and placeholders would show up in the
person's folder; so what a command made under such a name is set aside (renamed to `NAME.held`) as soon as it ended.
Meanwhile nobody goes by it (`ledger.py`).
A repository that was freshly made or cloned stays if git would run nothing of it; with its own instruction files if
its folder is fresh, too.
"""

import os
import re
import stat
import time
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from ..protected import GIT_CONTROL, GIT_FILES, INSTRUCTION_FILES

MAX_FOLDERS = 50_000
MAX_SECONDS = 2.0
MAX_CONFIG = 64 * 1024  # bytes

CLOCK = 1.0  # seconds that the time stamps of files may be behind

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

    vouched: what somebody with full access wrote since. began: time (s) of the look.
    folders: those seen; None = not known.
    """

    halo: list[Path] = field(default_factory=list)
    git: list[Path] = field(default_factory=list)
    files: list[Path] = field(default_factory=list)
    links: dict[Path, str] = field(default_factory=dict)
    seen: set[Identity] = field(default_factory=set)
    folders: set[Identity] | None = None
    vouched: set[Stamp] = field(default_factory=set)
    whole: bool = True  # False = the workspace is too large to look through; the outer folders were
    began: float = field(default_factory=time.time)

    def all(self) -> Iterator[Path]:
        yield from (*self.halo, *self.git, *self.files, *self.links)


def look(root: Path, *, seconds: float = MAX_SECONDS, most: int = MAX_FOLDERS) -> Found:
    """Walks breadth first, follows no link, never fails for what it may not read. most: folders, 1 = the root alone."""
    found = Found(folders=set())
    end = time.monotonic() + seconds
    todo = deque([root])
    folders = 0
    while todo:
        folders += 1
        if folders > most or (folders % 256 == 0 and time.monotonic() > end):
            found.whole = False
            break
        with suppress(OSError), os.scandir(todo.popleft()) as entries:
            for entry in entries:
                _take(entry, found, todo)
    return found


def _take(entry: "os.DirEntry[str]", found: Found, todo: "deque[Path]") -> None:
    name = entry.name.casefold()
    is_control = name in (".halo", ".git") or name in INSTRUCTION_FILES or name in GIT_FILES
    if not is_control:
        if entry.is_dir(follow_symlinks=False):
            todo.append(Path(entry.path))
            if found.folders is not None:
                with suppress(OSError):
                    status = entry.stat(follow_symlinks=False)
                    found.folders.add((status.st_dev, status.st_ino))
        return
    path = Path(entry.path)
    kind = found.halo if name == ".halo" else found.git if name == ".git" else found.files
    if _note(path, kind, found) and name == ".git" and entry.is_dir(follow_symlinks=False):
        with suppress(OSError):
            for inner in sorted(path.iterdir()):
                if inner.name.casefold() in GIT_CONTROL:
                    _note(inner, found.files, found)
    if name == ".git" and entry.is_file(follow_symlinks=False):
        found.git.remove(path)
        found.files.append(path)  # a pointer to a repository elsewhere


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
    found.seen.add((status.st_dev, status.st_ino))
    return True


def settle(root: Path, before: Found) -> list[str]:
    """After a command: set aside what it made under a control name. Returns the old names, relative to `root`."""
    after = look(root)
    fresh = [path for path in after.all() if path not in before.links and is_new(path, before)]  # links: see below
    repositories = [_extent(root, path, before) for path in after.git if path in fresh and is_harmless(path)]
    held: list[str] = []
    for path in sorted(fresh, key=lambda place: len(place.parts)):
        is_halo = path.name.casefold() == ".halo"
        if not is_halo and any(_belongs(path, repository) for repository in repositories):
            continue
        if any(path.is_relative_to(root / name) for name in held):
            continue  # went with a folder above it
        if _set_aside(root, path):
            held.append(str(path.relative_to(root)))
    for path, target in before.links.items():
        if after.links.get(path) != target and not _is_vouched(path, before) and _put_back(root, path, target):
            held.append(str(path.relative_to(root)))
    return sorted(set(held))


def settle_top(root: Path, before: Found) -> list[str]:
    """While a command runs: the same for the root folder alone, so that nobody reads there what it just planted.

    A repository may still be in the making.
    """
    after = look(root, most=1)
    fresh = [path for path in after.all() if path not in before.links and is_new(path, before)]
    growing = [path for path in after.git if path in fresh and is_harmless(path, finished=False)]
    fresh = [path for path in fresh if not any(_belongs(path, repository) for repository in growing)]
    return [str(path.relative_to(root)) for path in fresh if _set_aside(root, path)]


def _extent(root: Path, git: Path, before: Found) -> Path:
    """What belongs to a fresh repository: its whole folder if the command made that, else nothing besides `.git`."""
    folder = git.parent
    if folder != root and before.whole and before.folders is not None:
        with suppress(OSError):
            status = folder.lstat()
            if (status.st_dev, status.st_ino) not in before.folders:
                return folder
    return git


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
    if (status.st_dev, status.st_ino) in before.seen:
        return False
    return before.whole or status.st_ctime > before.began - CLOCK


def _is_vouched(path: Path, before: Found) -> bool:
    with suppress(OSError):
        return Stamp.of(path.lstat()) in before.vouched
    return False


def _belongs(path: Path, repository: Path) -> bool:
    return path.is_relative_to(repository) and not path.is_symlink()


# One line of a configuration that git writes by itself. Anything else, however it may be read, is not harmless.
_SECTION = re.compile(r"\[(core|user|remote \"[\w./-]+\"|branch \"[\w./-]+\")\]")
_KEYS = {
    "core": {"repositoryformatversion", "filemode", "bare", "logallrefupdates", "ignorecase", "precomposeunicode"}
    | {"symlinks"},
    "user": {"name", "email"},
    "remote": {"url", "fetch", "tagopt"},
    "branch": {"remote", "merge", "rebase"},
}
_LINE = re.compile(r"\t?(\w+) = ([^\"\\;#\x00-\x1f]*)")
_URL = re.compile(r"(https?://|git://|ssh://|[\w.-]+@[\w.-]+:|\.{0,2}/)[^\s]*")


def is_harmless(git: Path, *, finished: bool = True) -> bool:
    """Whether git, started with full rights in this repository, would run nothing of it.

    finished: False for one in the making, which has no configuration at first.
    """
    try:
        if not stat.S_ISDIR(git.lstat().st_mode):
            return False
        names = {name.casefold(): git / name for name in os.listdir(git)}
        if "config" not in names and finished:
            return False
        if any(name in names for name in ("config.worktree", "commondir", "gitdir")):
            return False
        if any(os.listdir(names[name]) for name in ("modules", "worktrees") if name in names):
            return False
        if "hooks" in names and not all(name.endswith(".sample") for name in os.listdir(names["hooks"])):
            return False
        if any(names[name].is_symlink() for name in ("hooks", "info", "modules", "worktrees") if name in names):
            return False
        if "info" in names and "attributes" in {name.casefold() for name in os.listdir(names["info"])}:
            return False
        if "config" not in names:
            return True
        if not stat.S_ISREG((git / "config").lstat().st_mode):
            return False
        with open(git / "config", "rb") as file:
            text = file.read(MAX_CONFIG + 1)
        return len(text) <= MAX_CONFIG and is_plain_config(text.decode("utf-8"))
    except (OSError, UnicodeDecodeError):
        return False


def is_plain_config(text: str) -> bool:
    section = ""
    for line in text.split("\n"):
        if not line:
            continue
        if named := _SECTION.fullmatch(line):
            section = named[1].partition(" ")[0]
            continue
        setting = _LINE.fullmatch(line)
        if setting is None or setting[1].lower() not in _KEYS.get(section, ()):
            return False
        if setting[1].lower() == "url" and (not _URL.fullmatch(setting[2]) or "::" in setting[2]):
            return False
    return True


def _set_aside(root: Path, path: Path) -> bool:
    with suppress(OSError), _Parent(root, path) as folder:
        for number in range(100):
            held = f"{path.name}.held" if not number else f"{path.name}.held{number}"
            if not _exists(held, folder):
                os.rename(path.name, held, src_dir_fd=folder, dst_dir_fd=folder)
                return True
    return False


def _put_back(root: Path, path: Path, target: str) -> bool:
    """A control name that was a link and is something else now: the new thing is set aside, the link made again."""
    with suppress(OSError), _Parent(root, path) as folder:
        if _exists(path.name, folder) and not _set_aside(root, path):
            return False
        os.symlink(target, path.name, dir_fd=folder)
        return True
    return False


def _exists(name: str, folder: int) -> bool:
    try:
        os.lstat(name, dir_fd=folder)
    except FileNotFoundError:
        return False
    return True


class _Parent:
    """The folder of a path as an open handle, reached from the root without following a link."""

    def __init__(self, root: Path, path: Path) -> None:
        self._root, self._parts = root, path.parent.relative_to(root).parts

    def __enter__(self) -> int:
        flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
        self._handle = os.open(self._root, flags)
        for part in self._parts:
            inner = os.open(part, flags, dir_fd=self._handle)
            os.close(self._handle)
            self._handle = inner
        return self._handle

    def __exit__(self, *error: object) -> None:
        os.close(self._handle)


def told(held: Iterable[str]) -> str:
    """What the model is told."""
    names = ", ".join(held)
    return f"[set aside, because it steers agents or git and needs full access: {names}; find it as NAME.held]"
