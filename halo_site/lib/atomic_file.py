"""Replace a file as a whole: after a crash at any moment the old or the new content is there, never a mixture.

A temporary file in the same folder is written, flushed to disk and renamed. Its place is noted in a journal folder
first, so that the next start removes what a killed process left (`sweep`).
"""

import errno
import fcntl
import os
import secrets
import socket
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from .crashpoint import crashpoint

PREFIX = ".halo-tmp-"
_journal: Path | None = None


def use_journal(folder: Path) -> None:
    """Where this process notes its temporary files; set once, before files are written."""
    global _journal
    _journal = folder


def write_atomic(path: Path, data: bytes, *, mode: int | None = None) -> None:
    """Replace or create `path`. `mode`: permission bits; None keeps those of the old file, new files get 0644 & umask.

    The folder must exist. Raises OSError; then the old file is whole and no temporary file is left.
    """
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        replace_in(folder, path.name, data, mode=mode, where=path.parent)
    finally:
        os.close(folder)


def replace_in(folder: int, name: str, data: bytes, *, mode: int | None = None, where: Path | None = None) -> None:
    """Like write_atomic, for a name in an open folder. `where`: the folder's path, for the journal."""
    with staged(folder, like=name, mode=mode, where=where) as file:
        file.write(data)
        file.publish(name)


class Staged:
    """A temporary file that becomes a file of its folder by `publish`, whole and on disk, or not at all."""

    def __init__(self, folder: int, temporary: str, mode: int | None) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        self.temporary = temporary
        self._folder = folder
        self._mode = mode
        self._handle = os.open(temporary, flags, 0o666 if mode is None else mode, dir_fd=folder)

    def write(self, data: bytes) -> None:
        _write_all(self._handle, data)

    def sync(self) -> None:
        """To disk; what takes long, so that a lock need not be held meanwhile."""
        if self._mode is not None:
            os.fchmod(self._handle, self._mode)
        os.fsync(self._handle)

    def publish(self, name: str, *, over: bool = True) -> os.stat_result:
        """Give it its name. over: replace what has it; else raises FileExistsError and changes nothing."""
        self.sync()
        crashpoint("file.temp_written")
        if over:
            os.rename(self.temporary, name, src_dir_fd=self._folder, dst_dir_fd=self._folder)
        else:
            _rename_to_free(self._folder, self.temporary, name)
        os.fsync(self._folder)
        return os.fstat(self._handle)

    def close(self) -> None:
        os.close(self._handle)


@contextmanager
def staged(folder: int, *, like: str = "", mode: int | None = None, where: Path | None = None) -> Iterator[Staged]:
    """A file in the making. `like`: a file whose permission bits it gets when `mode` gives none."""
    temporary = f"{PREFIX}{os.getpid()}-{secrets.token_hex(6)}"
    exact = mode if mode is not None or not like else _mode_of(folder, like)
    note = _note(where, temporary)
    try:
        file = Staged(folder, temporary, exact)
        try:
            yield file
        finally:
            file.close()
    finally:
        with suppress(OSError):  # published: it has another name now
            os.unlink(temporary, dir_fd=folder)
        if note:
            with suppress(OSError):
                os.unlink(note)


def _rename_to_free(folder: int, temporary: str, name: str) -> None:
    """Raises FileExistsError when the name is taken, also by a link that leads nowhere."""
    try:
        os.link(temporary, name, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
        os.unlink(temporary, dir_fd=folder)
    except OSError as error:
        if error.errno not in (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK):
            raise
        with folder_lock(folder):  # a file system without hard links: our own writers keep out
            with suppress(FileNotFoundError):
                os.stat(name, dir_fd=folder, follow_symlinks=False)
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), name) from None
            os.rename(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)


@contextmanager
def folder_lock(folder: int) -> Iterator[None]:
    """Keeps other writers of this folder out, in this and in other processes. Blocks until it is free."""
    handle = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=folder)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


@contextmanager
def locked_folder(path: Path) -> Iterator[None]:
    """`folder_lock` by path."""
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with folder_lock(handle):
            yield
    finally:
        os.close(handle)


def sweep(journal: Path) -> int:
    """Remove the temporary files that dead processes of this host left; returns how many. Never raises OSError."""
    removed = 0
    try:
        notes = list(journal.iterdir())
    except OSError:
        return 0
    for note in notes:
        host, _, rest = note.name.partition("@")
        pid = rest.partition("-")[0]
        if host != socket.gethostname() or not pid.isdigit() or _alive(int(pid)):
            continue
        with suppress(OSError, ValueError):
            leftover = Path(note.read_text(encoding="utf-8"))
            if leftover.name.startswith(PREFIX):
                with suppress(FileNotFoundError):
                    leftover.unlink()
                    removed += 1
            note.unlink()
    return removed


def _note(where: Path | None, temporary: str) -> Path | None:
    if _journal is None or where is None:
        return None
    note = _journal / f"{socket.gethostname()}@{os.getpid()}-{secrets.token_hex(6)}"
    try:
        note.write_text(str(where / temporary), encoding="utf-8")
    except (OSError, UnicodeEncodeError):
        return None  # a home that cannot be written must not stop a write elsewhere
    return note


def _mode_of(folder: int, name: str) -> int | None:
    try:
        found = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None
    return stat.S_IMODE(found.st_mode) if stat.S_ISREG(found.st_mode) else None


def _write_all(handle: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(handle, view) :]


def _alive(pid: int) -> bool:
    if pid == os.getpid():
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
