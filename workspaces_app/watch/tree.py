"""What a folder looked like when we last looked, and what is different now.

Not thread-safe; belongs to one watcher. Looks at the disk, never follows a link, and raises nothing for what it meets
there: a folder that cannot be read looks empty.
"""

import os
import stat
from collections import deque
from contextlib import suppress

from ..events import FileAction
from .rules import is_ignored, is_quiet

Change = tuple[str, FileAction]  # path relative to the root, `/` between segments

MAX_FOLDERS = 20_000
MAX_ENTRIES = 200_000
_MASK = (1 << 62) - 1


def mark_of(status: os.stat_result) -> int:
    """A number that changes with a file; folders have the negative one of their inode, so a replaced one shows."""
    if stat.S_ISDIR(status.st_mode):
        return -status.st_ino - 1
    return hash((status.st_mtime_ns, status.st_size, status.st_ino)) & _MASK


class Tree:
    """folders: names and marks by folder ("" = the root), of what is not ignored.

    fresh: folders that came or were replaced since somebody cleared it. full: there was more than we keep; the upper
    levels are in. newest: when the newest change happened of what was looked at, in ns by the clock of the disk; what
    happened to a folder before it was listed is in it.
    """

    def __init__(self, root: str, *, max_folders: int = MAX_FOLDERS, max_entries: int = MAX_ENTRIES) -> None:
        self.root = root
        self.folders: dict[str, dict[str, int]] = {}
        self.unreadable: set[str] = set()
        self.fresh: set[str] = set()
        self.full = False
        self.newest = 0
        self._max_folders, self._max_entries = max_folders, max_entries
        self._entries = 0

    def place(self, path: str) -> str:
        return f"{self.root}/{path}" if path else self.root

    def places(self) -> list[str]:
        """The folders to watch, upper ones first."""
        return [self.place(folder) for folder in self.folders if folder not in self.unreadable]

    # Looking

    def survey(self) -> None:
        """Only which folders there are, for the first watch: at half the price of a look, as no file is asked."""
        todo = deque([""])
        while todo and len(self.folders) < self._max_folders:
            at = todo.popleft()
            listed: dict[str, int] = {}
            with suppress(OSError), os.scandir(self.place(at)) as entries:  # the look that follows says what is wrong
                for entry in entries:
                    if not is_ignored(entry.name, at) and entry.is_dir(follow_symlinks=False):
                        listed[entry.name] = -entry.inode() - 1
            todo += (f"{at}/{name}" if at else name for name in listed)
            self._keep(at, listed)

    def refresh(self, folder: str = "") -> list[Change]:
        """List `folder` and everything below; the differences."""
        changes: list[Change] = []
        if folder == "":
            self.full = False
        todo = deque([folder])
        while todo:
            at = todo.popleft()
            listed = self._list(at)
            if listed is None:
                continue
            below, known = f"{at}/" if at else "", self.folders.get(at, {})
            for name in [name for name in known if name not in listed]:
                changes += self._gone(below + name)
            for name, mark in listed.items():
                changes += self._seen(below + name, known.get(name), mark)
                if mark < 0:
                    todo.append(below + name)
            self._keep(at, listed)
        return changes

    def look(self, path: str, *, modified: bool, deleted: bool) -> list[Change]:
        """The kernel says something happened to `path`; what it was.

        modified: it was written to, which its mark may not show (two writes within one tick of the clock).
        deleted: it was gone for a moment, so a folder is another one although its inode may be the same.
        """
        parent, _, name = path.rpartition("/")
        known = self.folders.get(parent)
        if known is None:
            return []
        try:
            mark = mark_of(os.lstat(self.place(path)))
        except OSError:
            if name not in known:
                return []
            changes = self._gone(path)
            del known[name]
            self._entries -= 1
            return changes
        old = known.get(name)
        changes = self._seen(path, old, mark)
        if old is None:
            self._entries += 1
        known[name] = mark
        if mark < 0:
            if deleted or old is None or old != mark:
                self.fresh.add(path)
                changes += self.refresh(path)
        elif modified and not changes:
            changes.append((path, "change"))
        return changes

    def _list(self, folder: str) -> dict[str, int] | None:
        """Names and marks; None = it is not kept, there is too much already."""
        if folder not in self.folders and len(self.folders) >= self._max_folders:
            self.full = True
            return None
        found: dict[str, int] = {}
        try:
            with os.scandir(self.place(folder)) as entries:
                for entry in entries:
                    if not is_ignored(entry.name, folder):
                        try:
                            status = entry.stat(follow_symlinks=False)
                        except OSError:
                            continue  # gone meanwhile
                        found[entry.name] = mark_of(status)
                        if status.st_ctime_ns > self.newest and not is_quiet(f"{folder}/{entry.name}"):
                            self.newest = status.st_ctime_ns
                self.newest = max(self.newest, os.stat(self.place(folder)).st_ctime_ns)  # something went
        except OSError as error:
            if not isinstance(error, FileNotFoundError):
                self.unreadable.add(folder)
            return found
        self.unreadable.discard(folder)
        if self._entries - len(self.folders.get(folder, ())) + len(found) > self._max_entries:
            self.full = True
            return None
        return found

    def _keep(self, folder: str, listed: dict[str, int]) -> None:
        if folder not in self.folders:
            self.fresh.add(folder)
        self._entries += len(listed) - len(self.folders.get(folder, ()))
        self.folders[folder] = listed

    def _seen(self, path: str, old: int | None, mark: int) -> list[Change]:
        if old == mark:
            return []
        if old is None:
            return [(path, self._added(path, mark))]
        if (old < 0) is not (mark < 0):
            return [*self._gone(path), (path, self._added(path, mark))]
        if mark < 0:
            self.fresh.add(path)  # another folder by the same name; what is in it is compared by the caller
            return []
        return [(path, "change")]

    def _added(self, path: str, mark: int) -> FileAction:
        return "addDir" if mark < 0 or os.path.isdir(self.place(path)) else "add"

    def _gone(self, path: str) -> list[Change]:
        """Everything that was below, then `path` itself: whoever has one of these open is told."""
        listed = self.folders.pop(path, None)
        changes: list[Change] = []
        if listed is not None:
            self.unreadable.discard(path)
            self.fresh.discard(path)
            self._entries -= len(listed)
            for name in listed:
                changes += self._gone(f"{path}/{name}")
        return [*changes, (path, "unlink")]
