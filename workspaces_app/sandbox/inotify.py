"""What the kernel tells of folders, one by one and without following links.

Not watchfiles: its recursive watch follows links out of the workspace, and each further folder would mean to begin anew
with all of them, while no other thread of the process runs.
"""

import ctypes
import errno
import os
import select
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

_MODIFY, _MOVED_TO, _CREATE = 0x2, 0x80, 0x100
_OVERFLOW, _IGNORED = 0x4000, 0x8000
_ONLYDIR, _DONT_FOLLOW, _ISDIR = 0x01000000, 0x02000000, 0x40000000
_EVENT = struct.Struct("iIII")  # watch, mask, cookie, bytes of the name
BUFFER, BUFFERS = 64 * 1024, 16  # bytes, and how many at most at once: about what the kernel holds

LIMITS = (errno.ENOSPC, errno.EMFILE, errno.ENFILE, errno.ENOMEM)


class News(NamedTuple):
    """`name` came into `folder`, or changed there where that is asked for."""

    folder: Path
    name: str
    is_dir: bool


class Inotify:
    """Watches nothing at first. Raises OSError when the kernel gives no more watchers."""

    def __init__(self) -> None:
        self._kernel = ctypes.CDLL(None, use_errno=True)
        self._folders: dict[int, Path] = {}
        self._handle = self._checked(self._kernel.inotify_init1(os.O_CLOEXEC | os.O_NONBLOCK))
        self.overflowed = False  # something was not told; set to False by whoever looks for himself

    def add(self, folder: Path, *, changes: bool = False) -> None:
        """Also under another name than before. changes: tell of files that are written to, too.

        Raises OSError: with one of LIMITS when there are no more watches, else when the folder is not one any more.
        """
        mask = _CREATE | _MOVED_TO | (_MODIFY if changes else 0) | _ONLYDIR | _DONT_FOLLOW
        self._folders[self._checked(self._kernel.inotify_add_watch(self._handle, os.fsencode(folder), mask))] = folder

    def wait(self, seconds: float, stop: int) -> bool:
        """Until there are news, `seconds` passed, or the handle `stop` can be read."""
        poll = select.poll()
        poll.register(self._handle, select.POLLIN)
        poll.register(stop, select.POLLIN)
        return any(handle == self._handle for handle, _ in poll.poll(seconds * 1000))

    def read(self) -> Iterator[News]:
        """What is there by now."""
        for _ in range(BUFFERS):
            try:
                data = os.read(self._handle, BUFFER)
            except BlockingIOError:
                return
            at = 0
            while at < len(data):
                watch, mask, _, size = _EVENT.unpack_from(data, at)
                name = os.fsdecode(data[at + _EVENT.size : at + _EVENT.size + size].rstrip(b"\0"))
                at += _EVENT.size + size
                if mask & _OVERFLOW:
                    self.overflowed = True
                elif mask & _IGNORED:
                    self._folders.pop(watch, None)
                elif watch in self._folders and name:
                    yield News(self._folders[watch], name, bool(mask & _ISDIR))

    def close(self) -> None:
        os.close(self._handle)

    @staticmethod
    def _checked(answer: int) -> int:
        if answer < 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))
        return answer
