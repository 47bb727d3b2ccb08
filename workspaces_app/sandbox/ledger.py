"""Which commands run below full access, and what steered agents when each began (SECURITY-BAR S3).

A control file that such a command makes is set aside, but that takes a moment. Until then nobody goes by it: whoever
reads control files asks `is_planted`, whoever writes one with full access says so (`vouching`), in whatever process.
So a record lies in the home while its command runs. It is locked meanwhile: one without a lock was left by a process
that died, and what that command made is set aside then (`settle_left`).
"""

import fcntl
import json
import logging
import os
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar
from uuid import uuid4

from django.conf import settings

from ..protected import GIT_PARTS, WORK_FOLDERS, is_control_file, may_steer
from .sweep import Found, Identity, Stamp, is_new, settle

log = logging.getLogger("halo.sandbox")
T = TypeVar("T")

SUFFIX = ".json"
MAKING = "."  # begins the name of a record that is being written
# A folder that changed so lately may change again without showing it: some file systems keep whole seconds.
TICK = 2.5  # seconds


@dataclass(frozen=True, slots=True)
class Record:
    """`file` is locked as long as the command runs; `vouched` has a line for every control file others wrote."""

    file: Path
    root: Path
    before: Found

    @property
    def vouched(self) -> Path:
        return self.file.with_suffix(".vouched")

    def settled(self, act: Callable[[Path, Found], T]) -> T:
        """`act` with what was vouched for so far; nobody vouches meanwhile. Raises FileNotFoundError without a home."""
        with _locked(self.vouched):
            self.learn()
            return act(self.root, self.before)

    def learn(self) -> None:
        """What was vouched for since."""
        with suppress(FileNotFoundError):
            self.before.vouched.update(Stamp(*json.loads(line)) for line in self.vouched.read_bytes().splitlines())


@contextmanager
def recorded(root: Path, before: Found) -> Iterator[Record]:
    """While a command runs in `root` (resolved). Raises OSError when the home cannot be written."""
    folder = _folder()
    folder.mkdir(mode=0o700, exist_ok=True)
    file = folder / f"{uuid4().hex}{SUFFIX}"
    making = file.with_name(MAKING + file.name)
    record = Record(file, root, before)
    handle = os.open(making, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        with open(handle, "wb", closefd=False) as out:
            out.write(_written(root, before))
        record.vouched.touch(0o600)
        making.rename(file)
        yield record
    finally:
        for left in (making, file, record.vouched):
            left.unlink(missing_ok=True)
        os.close(handle)


def records() -> Collection[Record]:
    """Of all commands that run now, or died and were not looked after yet."""
    global _known
    try:
        changed = _folder().stat().st_mtime_ns
    except FileNotFoundError:
        return ()
    if _known is None or _known[0] != (_folder(), changed) or time.time_ns() - changed < TICK * 1e9:
        before = _known[1] if _known else {}
        found: dict[Path, Record] = {}
        for file in _folder().glob(f"[!.]*{SUFFIX}"):
            record = before.get(file) or _read(file)
            if record is not None:
                found[file] = record
        _known = (_folder(), changed), found
    return _known[1].values()


_known: tuple[tuple[Path, int], dict[Path, Record]] | None = None


def is_planted(path: Path, inode: int, running: Collection[Record]) -> bool:
    """Whether a command made the control file that was just read, or a folder it lies in.

    inode: of what was read. running: `records()` from before the read; those of now are asked, too.
    """
    everything = {record.file: record for record in (*running, *records())}
    if not everything:
        return False
    real = Path(os.path.realpath(path.parent), path.name)
    return any(_made(record, real, inode) for record in everything.values() if real.is_relative_to(record.root))


def _made(record: Record, path: Path, inode: int) -> bool:
    record.learn()
    with suppress(FileNotFoundError, NotADirectoryError):
        if path.lstat().st_ino == inode or path.is_symlink():
            return any(is_new(place, record.before) for place in _within_reach(record, path))
    return True  # it is gone, or something else by now


def _within_reach(record: Record, path: Path) -> Iterator[Path]:
    """The control places on the way to `path`, without what lies in a `.halo` that was there: that is read-only."""
    kept: Path | None = None
    for place in _control_places(record.root, path):
        if kept is None or (place.relative_to(kept).parts[0] in WORK_FOLDERS and place.parent != kept):
            yield place
        if place.name.casefold() == ".halo" and not is_new(place, record.before):
            kept = place


@contextmanager
def vouching(path: Path) -> Iterator[None]:
    """Around a write with full access to `path`: commands that run in that folder did not make it."""
    running = records() if may_steer(_folded(path.parts)) else ()
    if not running:
        yield
        return
    path = Path(os.path.realpath(path.parent), path.name)
    with ExitStack() as stack:
        lists: list[tuple[Record, int]] = []
        for record in running:
            if path.is_relative_to(record.root):
                with suppress(FileNotFoundError):  # the command has just ended
                    lists.append((record, stack.enter_context(_locked(record.vouched))))
        try:
            yield
        finally:
            for record, handle in lists:
                for place in _control_places(record.root, path, parts=True):
                    with suppress(FileNotFoundError, NotADirectoryError):
                        os.write(handle, json.dumps(Stamp.of(place.lstat())).encode() + b"\n")


def settle_left() -> None:
    """Set aside what commands made whose process died."""
    for record in list(records()):
        with suppress(FileNotFoundError, BlockingIOError), _locked(record.file, wait=False):
            record.settled(settle)
            record.file.unlink(missing_ok=True)
            record.vouched.unlink(missing_ok=True)
            log.warning("looked after what a command in %s left whose process died", record.root)


def _folder() -> Path:
    return Path(settings.HALO.home, "cells")


def _control_places(root: Path, path: Path, *, parts: bool = False) -> Iterator[Path]:
    """`path` and the folders above it, as far as their name steers agents or git, outer first.

    parts: also those that do so in a bare repository, whether or not they lie in one.
    """
    names = path.relative_to(root).parts
    for length in range(1, len(names) + 1):
        folded = _folded(names[:length])
        if is_control_file(folded) or (parts and folded[-1] in GIT_PARTS):
            yield root.joinpath(*names[:length])


def _folded(parts: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name.casefold() for name in parts)


@contextmanager
def _locked(file: Path, *, wait: bool = True) -> Iterator[int]:
    """Raises FileNotFoundError when it is gone, BlockingIOError when somebody has it and we do not wait."""
    handle = os.open(file, os.O_RDWR | os.O_APPEND | os.O_CLOEXEC)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        if os.fstat(handle).st_nlink == 0:
            raise FileNotFoundError(file)
        yield handle
    finally:
        os.close(handle)


def _written(root: Path, before: Found) -> bytes:
    """The part of `Found` that tells old from new. Paths may hold any byte."""
    links = {os.fsencode(path).hex(): os.fsencode(target).hex() for path, target in before.links.items()}
    values = {
        "root": os.fsencode(root).hex(),
        "began": before.began,
        "whole": before.whole,
        "seen": sorted(before.seen),
        "parts": sorted(before.parts),
        "links": links,
    }
    return json.dumps(values).encode()


def _read(file: Path) -> Record | None:
    try:
        values = json.loads(file.read_bytes())
    except FileNotFoundError:
        return None
    links = {Path(_path(path)): _path(target) for path, target in values["links"].items()}
    seen: set[Identity] = {(device, inode) for device, inode in values["seen"]}
    parts: set[Identity] = {(device, inode) for device, inode in values.get("parts", ())}
    before = Found(links=links, seen=seen, parts=parts, whole=values["whole"], began=values["began"])
    return Record(file, Path(_path(values["root"])), before)


def _path(text: str) -> str:
    return os.fsdecode(bytes.fromhex(text))
