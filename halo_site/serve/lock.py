"""One server per home: an OS lock on `global/server.lock`, which holds the pid (spec deploy 5.1).

The lock ends with the process, however it dies, so a file left behind is simply taken over.
"""

import errno
import fcntl
import os
from pathlib import Path

from halo_site.lib.errors import HaloError

_NO_LOCKS = {errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS}


class AlreadyRunning(HaloError):
    def __init__(self, pid: int | None) -> None:
        super().__init__(f"another halo server is already running (pid {pid or 'unknown'}). kill it first.")


class InstanceLock:
    def __init__(self, path: Path) -> None:
        self.path = path
        self._file: int | None = None

    def take(self) -> None:
        """Hold the lock until `release` or death. Raises AlreadyRunning that names the holder."""
        handle = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            pid = _pid_in(handle)
            os.close(handle)
            raise AlreadyRunning(pid) from None
        except OSError as error:
            # Some network file systems have no locks: then the pid in the file decides, if it is really a server.
            pid = _pid_in(handle)
            if error.errno not in _NO_LOCKS:
                os.close(handle)
                raise
            if pid and pid != os.getpid() and is_server(pid):
                os.close(handle)
                raise AlreadyRunning(pid) from None
        os.ftruncate(handle, 0)
        os.pwrite(handle, f"{os.getpid()}\n".encode(), 0)
        self._file = handle

    def release(self) -> None:
        if self._file is not None:
            os.ftruncate(self._file, 0)
            os.close(self._file)
            self._file = None


def _pid_in(handle: int) -> int | None:
    try:
        return int(os.pread(handle, 32, 0))
    except ValueError:
        return None


def is_server(pid: int) -> bool:
    """Whether this pid is alive and is `manage.py serve`, not some other program that got the number."""
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except FileNotFoundError:
        if Path("/proc/self").exists():
            return False
        try:  # no /proc: all we can know is whether the pid lives
            os.kill(pid, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            return True
        return True
    except OSError:
        return False
    return b"serve" in words
