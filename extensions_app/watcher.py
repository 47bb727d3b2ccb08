"""Notices what is put into the extensions root by others: a copy, a skill's script, another process (3.3).

One thread; it watches the root alone, not what is in the folders. A copy that takes its time is looked at again, since
files that arrive in a new folder make no news in the root.
"""

import logging
import threading
import time
from collections.abc import Callable
from pathlib import Path

from watchfiles import watch

from .install import recover

log = logging.getLogger(__name__)
DEBOUNCE_MS = 300
STEP_MS = 50  # of quiet that end a burst
RETRY = 1.0  # seconds
LOOK_AGAIN = (1.0, 3.0, 10.0, 30.0)  # seconds after the last news


class Watcher:
    """`start` makes the root and tidies it, then `changed` is called: once at the start and after every burst."""

    def __init__(self, root: Path, changed: Callable[[], object]) -> None:
        self.root, self.changed = root, changed
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="extensions watcher", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Ends within half a second; nobody waits for it."""
        self._stop.set()

    def _run(self) -> None:
        first = True
        while not self._stop.is_set():
            try:
                self.root.mkdir(parents=first, exist_ok=True)
                if first:
                    recover(self.root)
                    first = False
                self._watch()
            except FileNotFoundError as error:
                log.info("Nothing to watch: %s", error)  # the home is gone, or the root vanished just now
            except Exception:
                log.warning("Watching %s failed; it starts again", self.root, exc_info=True)
            self._stop.wait(RETRY)

    def _watch(self) -> None:
        news = watch(
            self.root,
            watch_filter=None,
            recursive=False,
            debounce=DEBOUNCE_MS,
            step=STEP_MS,
            stop_event=self._stop,
            rust_timeout=500,
            yield_on_timeout=True,
            raise_interrupt=False,
        )
        self.changed()  # after the watch exists as far as we can know, and again when it has said so
        again = [time.monotonic() + LOOK_AGAIN[0]]
        for burst in news:
            now = time.monotonic()
            if burst:
                again = [now + seconds for seconds in LOOK_AGAIN]
            if burst or (again and now >= again[0]):
                again = [moment for moment in again if moment > now]
                self.changed()
            if not self.root.is_dir():  # inotify says nothing more about a folder that was made again
                return
