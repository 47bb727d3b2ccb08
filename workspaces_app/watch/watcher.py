"""One thread that watches one folder: arms the kernel, compares, joins, tells.

Everything that lives here belongs to the thread; others may only `start` and `stop` it.
"""

import logging
import os
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from halo_site.lib.events import Event

from ..events import FileChanged, FilesResync, FilesWatching, WatchMode
from . import git_eye, rules
from .native import DELETED, MODIFIED, Exhausted, Hints, Native, Notify
from .tree import MAX_ENTRIES, MAX_FOLDERS, Change, Tree
from .window import Window

log = logging.getLogger("halo.watch")

IDLE = 1.0  # seconds between two looks at the root itself
STALL = 3.0  # seconds late: the process stood still, and the kernel's queue may have run over
MANY = 4_000  # hints at once after which nobody trusts them to be complete
MAX_TOLD = 500  # changes told one by one; more are told as "read again"
GIT_JOIN = 0.35  # seconds
POLL_EVERY = 2.0  # seconds, and never more than a twentieth of the time
POLL_SHARE = 20
TRY_AGAIN = 60.0  # seconds until the kernel is asked again for watches
DISK_CLOCK = 5  # CLOCK_REALTIME_COARSE, by which Linux stamps files
ROUNDS = 5  # of arming, while folders come faster than we arm

TOO_LARGE = f"more than {MAX_FOLDERS:,} folders or {MAX_ENTRIES:,} files: only the upper levels are watched"

Tell = Callable[[Sequence[Event]], None]
Arm = Callable[[list[str]], Native]


class Watcher:
    """tell: called in the thread with one batch of news; the first is one FilesWatching and means "armed"."""

    def __init__(self, root: str, tell: Tell, *, arm: Arm = Notify, poll_every: float = POLL_EVERY) -> None:
        self.root = root
        self._tell = tell
        self._arm = arm
        self._poll_every = poll_every
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"watch {os.path.basename(root)}", daemon=True)
        self._tree = Tree(root)
        self._window = Window()
        self._git: git_eye.State | None = None
        self._git_dir: str | None = None
        self._git_due: float | None = None
        self._native: Native | None = None
        self._identity: tuple[int, int] | None = None
        self._told: FilesWatching | None = None
        self._poll_at = 0.0
        self._retry_at = 0.0
        self._why = ""  # why the kernel does not help; "" = it does

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Ends within some 20 ms; nobody has to wait for it."""
        self._stop.set()

    def join(self, seconds: float = 2.0) -> bool:
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def _run(self) -> None:
        try:
            reason = rules.refusal(self.root)
            if reason is not None:
                log.warning("%s: %s", self.root, reason)
                self._say("off", reason)
                return
            self._begin()
            while not self._stop.is_set():
                self._step()
        except Exception as error:
            # Live refresh is a comfort: without it everything else works, so the viewers are told and that is all.
            log.exception("Watching %s ended", self.root)
            self._say("off", f"watching ended by a fault: {type(error).__name__}")
        finally:
            self._disarm()

    # One round

    def _step(self) -> None:
        begun = time.monotonic()
        wait = self._patience(begun)
        hints = self._listen(wait)
        now = time.monotonic()
        if self._stop.is_set():
            return
        if _identity(self.root) != self._identity or DELETED in hints.get(self.root, ()):
            self._reborn()
        elif now - begun > wait + STALL or len(hints) > MANY:
            self._note(self._tree.refresh())
            self._look_at_git()
        elif hints:
            self._take(hints)
        elif self._native is None and now >= self._poll_at:
            self._poll()
        if self._tree.fresh and self._native is not None:
            self._settle()
        self._give_out(time.monotonic())

    def _patience(self, now: float) -> float:
        """Seconds until something has to be done even if nothing happens."""
        due = [IDLE, self._window.wait(now)]
        if self._git_due is not None:
            due.append(max(0.0, self._git_due - now))
        return min(seconds for seconds in due if seconds is not None)

    def _listen(self, seconds: float) -> Hints:
        if self._native is not None:
            return self._native.wait(seconds, self._stop)
        self._stop.wait(seconds)
        return {}

    def _take(self, hints: Hints) -> None:
        prefix = self.root + "/"
        for place, kinds in hints.items():
            if self._is_git(place):
                self._look_at_git()
                if DELETED in kinds and place == f"{self.root}/.git":
                    self._tree.fresh.add("")  # another one by the same name, or soon to be
            elif place.startswith(prefix):
                path = place[len(prefix) :]
                if not rules.is_ignored_path(path):
                    self._note(self._tree.look(path, modified=MODIFIED in kinds, deleted=DELETED in kinds))

    def _note(self, changes: Sequence[Change]) -> None:
        for path, action in changes:
            if action != "change" or not rules.is_quiet(path):
                self._window.add(path, action)

    def _give_out(self, now: float) -> None:
        news: list[Event] = []
        taken = self._window.take(now)
        if len(taken) > MAX_TOLD:
            news.append(FilesResync(workspace_path=self.root))
        else:
            news += [FileChanged(path=_text(path), action=action) for path, action in taken]
        if self._git_due is not None and now >= self._git_due:
            self._git_due = None
            news.append(FileChanged(path=".git", action="change"))
        if news:
            self._tell(news)

    # The kernel

    def _begin(self) -> None:
        """Arm, then look. Nobody was promised anything yet, so what happened meanwhile is told as one "read again"."""
        begun = time.clock_gettime_ns(DISK_CLOCK)
        self._identity = _identity(self.root)
        self._git = git_eye.state(self.root)
        self._tree.survey()
        self._arm_all()
        self._tree.refresh()
        self._window = Window()  # so far everything was new to us, not to others
        moved = self._tree.newest >= begun
        if self._native is not None and self._tree.fresh:
            self._settle()
        self._say_how()
        if moved:
            self._tell([FilesResync(workspace_path=self.root)])

    def _settle(self) -> None:
        """Watch the folders that came, then look into them again: something may have come before the watch."""
        for _ in range(ROUNDS):
            fresh = list(self._tree.fresh)
            self._arm_all()
            if self._native is None:
                return
            for folder in fresh:
                if folder in self._tree.folders:
                    self._note(self._tree.refresh(folder))
            if not self._tree.fresh:
                break
        self._say_how()

    def _arm_all(self) -> None:
        """The old watch is let go only when the new one stands; what both saw is told once."""
        self._git_dir = git_eye.git_dir(self.root)
        kind = rules.remote_type(self.root, _mounts())
        if kind is not None:
            self._poll_from_now_on(f"the folder lies on {kind}, which does not report changes")
            return
        for _ in range(ROUNDS):
            self._tree.fresh.clear()
            places = self._tree.places() + ([self._git_dir] if self._git_dir else [])
            try:
                new = self._arm(places)
            except Exhausted as error:
                self._poll_from_now_on(str(error))
                return
            except OSError:
                if not os.path.isdir(self.root):
                    self._disarm()  # the next look at the root goes on from there
                    return
                self._note(self._tree.refresh())  # a folder went while we armed
                self._git_dir = git_eye.git_dir(self.root)
                continue
            old, self._native, self._why = self._native, new, ""
            if old is not None:
                hints = old.wait(0.001, self._stop)
                old.close()
                self._take(hints)
            self._look_at_git()
            return
        self._poll_from_now_on("folders come and go too fast to be watched")

    def _disarm(self) -> None:
        if self._native is not None:
            self._native.close()
            self._native = None

    def _poll_from_now_on(self, why: str) -> None:
        if why != self._why:
            log.warning("%s: looking at it every few seconds instead of being told: %s", self.root, why)
        self._disarm()
        self._why = why
        now = time.monotonic()
        self._poll_at, self._retry_at = now + self._poll_every, now + TRY_AGAIN

    def _poll(self) -> None:
        begun = time.monotonic()
        if begun >= self._retry_at:
            self._arm_all()
            self._say_how()
        self._note(self._tree.refresh())
        self._tree.fresh.clear()
        self._look_at_git()
        now = time.monotonic()
        self._poll_at = now + max(self._poll_every, (now - begun) * POLL_SHARE)

    # The root itself

    def _reborn(self) -> None:
        """The folder went, came back, or is another one by the same name."""
        self._disarm()
        self._identity = _identity(self.root)
        if self._identity is None:
            self._note(self._tree.refresh())
            self._look_at_git()
            self._say_how()
            return
        self._note(self._tree.refresh())
        self._arm_all()
        self._note(self._tree.refresh())
        self._look_at_git()
        self._tell([FilesResync(workspace_path=self.root)])
        self._say_how()

    # The repository

    def _is_git(self, place: str) -> bool:
        if place == f"{self.root}/.git":
            return True
        folder, _, name = place.rpartition("/")
        return folder == self._git_dir and name in git_eye.FILES

    def _look_at_git(self) -> None:
        found = git_eye.state(self.root)
        if found != self._git:
            self._git = found
            if self._git_due is None:
                self._git_due = time.monotonic() + GIT_JOIN
        if git_eye.git_dir(self.root) != self._git_dir:
            self._tree.fresh.add("")  # another folder to watch

    # What viewers are told about us

    def _say_how(self) -> None:
        if self._identity is None:
            self._say("off", "the folder is gone")
        elif self._native is None:
            self._say("polling", self._why)
        elif self._tree.full:
            self._say("native", TOO_LARGE)
        else:
            self._say("native", None)

    def _say(self, mode: WatchMode, reason: str | None) -> None:
        told = FilesWatching(workspace_path=self.root, mode=mode, reason=reason)
        if told != self._told:
            self._told = told
            self._tell([told])


def _identity(root: str) -> tuple[int, int] | None:
    try:
        status = os.stat(root)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _mounts() -> list[str]:
    with suppress(OSError):
        return Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    return []


def _text(path: str) -> str:
    """A name that is not UTF-8 cannot be a frame; it is shown as the file routes show it, with a sign of the loss."""
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
