"""A real watcher on a real folder; waits for facts."""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from halo_site.lib.events import Event
from workspaces_app.events import FileChanged, FilesResync, FilesWatching
from workspaces_app.watch.watcher import DISK_CLOCK, Watcher

DEADLINE = 60.0


def tick() -> None:
    """Until the clock of the disk has come to now: it lags behind a finer one that newer kernels stamp by."""
    now = time.time_ns()
    while time.clock_gettime_ns(DISK_CLOCK) <= now:
        pass


class Watched:
    """A folder with its watcher, and everything that was told."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.news: list[Event] = []
        self._changed = threading.Condition()
        self.watcher: Watcher | None = None
        self._marks = 0

    def start(self, **options: Any) -> "Watched":
        tick()
        self.watcher = Watcher(str(self.root), self._tell, **options)
        self.watcher.start()
        self.until(lambda: self.modes)
        return self

    def _tell(self, events: Sequence[Event]) -> None:
        with self._changed:
            self.news += events
            self._changed.notify_all()

    def until(self, fact: Callable[[], object]) -> None:
        with self._changed:
            assert self._changed.wait_for(fact, DEADLINE), self.news

    @property
    def changes(self) -> list[tuple[str, str]]:
        return [(event.path, event.action) for event in self.news if isinstance(event, FileChanged)]

    @property
    def modes(self) -> list[tuple[str, str | None]]:
        return [(event.mode, event.reason) for event in self.news if isinstance(event, FilesWatching)]

    @property
    def resyncs(self) -> int:
        return sum(isinstance(event, FilesResync) for event in self.news)

    def told(self, path: str, action: str) -> None:
        self.until(lambda: (path, action) in self.changes)

    def settled(self) -> list[tuple[str, str]]:
        """All changes so far, those left out that are made here: each of these is told one window after the other."""
        for _ in range(3):
            self._marks += 1
            name = f"zz-mark-{self._marks}"
            (self.root / name).write_text("")
            self.told(name, "add")
        return [change for change in self.changes if not change[0].startswith("zz-mark")]

    def forget(self) -> None:
        self.settled()
        self.news = []


@pytest.fixture
def watched(tmp_path: Path) -> Iterator[Watched]:
    root = tmp_path / "work"
    root.mkdir()
    made = Watched(root)
    yield made
    if made.watcher is not None:
        made.watcher.stop()
        assert made.watcher.join()
