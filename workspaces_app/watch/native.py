"""The kernel's hints, through watchfiles: folders one by one, so that ignored ones cost nothing (DEPENDENCIES R11)."""

from threading import Event
from typing import Protocol

from watchfiles._rust_notify import RustNotify, WatchfilesRustInternalError

STEP = 20  # ms between two looks; news are given out when one look brought nothing more
DEBOUNCE = 50  # ms, at the latest

ADDED, MODIFIED, DELETED = 1, 2, 3  # watchfiles.Change
Hints = dict[str, set[int]]  # absolute path -> kinds


class Exhausted(Exception):
    """The kernel gives no more watches, or no more watchers. Says which, and how to raise it."""


class Native(Protocol):
    def wait(self, seconds: float, stop: Event) -> Hints: ...

    def close(self) -> None: ...


class Notify:
    """Watches from the moment it is made. Raises Exhausted; OSError when a place is gone or may not be read."""

    def __init__(self, places: list[str]) -> None:
        try:
            # Never `ignore_permission_denied`: with it a full kernel is silently taken for a success.
            self._rust = RustNotify(places, False, False, 0, False, False)
        except WatchfilesRustInternalError as error:
            raise Exhausted(
                "the kernel allows no more file watchers (fs.inotify.max_user_instances); raise it with sysctl"
            ) from error
        except OSError as error:
            if isinstance(error, FileNotFoundError | PermissionError):
                raise
            raise Exhausted(
                "the kernel allows no more watched folders (fs.inotify.max_user_watches); raise it with sysctl"
            ) from error

    def wait(self, seconds: float, stop: Event) -> Hints:
        """What happened; {} after `seconds`, or when `stop` was set."""
        found = self._rust.watch(DEBOUNCE, STEP, max(1, int(seconds * 1000)), stop)
        hints: Hints = {}
        if not isinstance(found, str):
            for kind, place in found:
                hints.setdefault(place, set()).add(kind)
        return hints

    def close(self) -> None:
        self._rust.close()
