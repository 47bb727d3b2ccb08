"""While a command runs that takes longer: what it plants is set aside soon, in whatever folder (SECURITY-BAR S3).

One thread per command. The kernel tells what comes. Now and then everything is looked through all the same, for the
kernel may lose news, and some folders cannot be watched. Where it gives no watches, that and the root folder remain.
"""

import logging
import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from pathlib import Path

from ..protected import GIT_CONTROL, GIT_PARTS
from .inotify import LIMITS, Inotify, News
from .ledger import Record
from .sweep import CONTROL, MAX_FOLDERS, Found, clear, look, moved_links, suspects

log = logging.getLogger("halo.sandbox")

LOOK_EVERY = 0.5  # seconds: for the root folder, and the longest rest
WHOLE_EVERY = 10.0  # seconds between two looks through everything, as long as the kernel tells all
SHARE = 20  # and such a look takes at most one in this many seconds
REST = 4  # times as long as a round took: a busy command does not keep us as busy
JOIN = 0.02  # seconds for news to come together
TIMES = 3  # so often is the same place set aside, then the command is to end

STEERING = CONTROL | GIT_PARTS


class _Over(Exception):
    """The command has ended while we looked."""


class Lookout:
    """again: called in the thread with a place that was set aside TIMES times."""

    def __init__(
        self, record: Record, again: Callable[[str], object], *, kernel: Callable[[], Inotify] = Inotify
    ) -> None:
        self.held: list[str] = []
        self._record, self._root, self._before = record, record.root, record.before
        self._again = again
        self._count: Counter[str] = Counter()
        self._new_kernel = kernel
        self._kernel: Inotify | None = None
        self._closely: set[Path] = set()  # bare repositories
        self._whole_at = self._hasty_at = 0.0
        self._failed = False
        self._stopping = threading.Event()
        self._wake: tuple[int, int] | None = None
        self._thread = threading.Thread(target=self._run, name=f"lookout {record.root.name}", daemon=True)

    def start(self) -> None:
        try:
            self._wake = os.pipe2(os.O_CLOEXEC)
            self._thread.start()
        except (OSError, RuntimeError) as error:
            self._give_up(error)

    def stop(self) -> None:
        """Returns when the thread is gone; at once when it was never started."""
        self._stopping.set()
        if self._wake is not None:
            os.close(self._wake[1])
            if self._thread.ident is not None:
                self._thread.join()
            os.close(self._wake[0])

    def _run(self) -> None:
        try:
            self._kernel = self._new_kernel()
        except OSError as error:
            self._give_up(error)
        while not self._stopping.is_set():
            begun = time.monotonic()
            try:
                self._round()
            except _Over:
                break
            except Exception as error:  # a fault here must not end what else is done for the command
                self._give_up(error)
            self._stopping.wait(min(LOOK_EVERY, REST * (time.monotonic() - begun)))
            self._listen()
        self._close()

    def _round(self) -> None:
        near, new = self._places(self._kernel.read() if self._kernel else ())
        self._look([self._root, *near])
        if new:
            self._look(sorted(new), MAX_FOLDERS)
        begun = time.monotonic()
        blind = self._kernel is None or self._kernel.overflowed
        if begun < (self._hasty_at if blind else self._whole_at):
            return
        if self._kernel is not None:
            self._kernel.overflowed = False
        self._look([self._root], MAX_FOLDERS)
        now = time.monotonic()
        self._hasty_at = now + max(LOOK_EVERY, SHARE * (now - begun))
        self._whole_at = now + max(WHOLE_EVERY, SHARE * (now - begun))

    def _listen(self) -> None:
        if self._kernel is None or self._wake is None:
            self._stopping.wait(LOOK_EVERY)
        elif self._kernel.wait(LOOK_EVERY, self._wake[0]):
            self._stopping.wait(JOIN)

    def _places(self, news: Iterable[News]) -> tuple[set[Path], set[Path]]:
        """Folders to look into, and folders to look through."""
        near: set[Path] = set()
        new: set[Path] = set()
        for folder, name, is_dir in news:
            above = folder.parent
            if folder.name.casefold() == ".git":
                near.add(above)
            elif above.name.casefold() == ".git":
                near.add(above.parent)
            else:
                if name.casefold() in STEERING:
                    near.add(folder)
                if folder.name.casefold() in GIT_CONTROL:  # a hook of a bare repository
                    near.add(above)
                if is_dir and name.casefold() not in (".halo", ".git"):
                    new.add(folder / name)
        return set(filter(self._is_inside, near)), set(filter(self._is_inside, new))

    def _is_inside(self, folder: Path) -> bool:
        """Still there, and no link by now leads elsewhere."""
        return folder.is_relative_to(self._root) and os.path.realpath(folder) == str(folder)

    def _look(self, begin: list[Path], most: int = 0) -> None:
        """most: folders; 0 = only these."""
        after = look(*begin, most=most or len(begin), visit=self._watch)
        self._clear(after)
        if closer := after.bare.keys() - self._closely:
            self._closely |= closer
            self._look(list(closer))  # what changed before it was watched closely

    def _watch(self, folder: Path) -> None:
        """Called before the look into it, so nothing comes in between."""
        if self._stopping.is_set():
            raise _Over
        if self._kernel is None:
            return
        try:
            self._kernel.add(folder, changes=folder.name.casefold() == ".git" or folder in self._closely)
        except OSError as error:
            if error.errno in LIMITS:
                self._give_up(error)

    def _clear(self, after: Found) -> None:
        if not suspects(self._before, after) and not moved_links(self._before, finished=False):
            return
        with suppress(FileNotFoundError):  # the record is gone: the command has ended
            for place in self._record.settled(partial(clear, after=after, finished=False)):
                self.held.append(place)
                self._count[place] += 1
                if self._count[place] == TIMES:
                    self._again(place)

    def _give_up(self, error: Exception) -> None:
        """Without the kernel from now on."""
        if not self._failed:
            told = "%s: what a command plants in it is found by a look now and then only: %s"
            log.warning(told, self._root, error, exc_info=None if isinstance(error, OSError) else error)
        self._failed = True
        self._close()

    def _close(self) -> None:
        if self._kernel is not None:
            self._kernel.close()
            self._kernel = None
